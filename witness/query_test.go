package witness

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
)

func TestParseQuery(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dialect    Dialect
		source     string
		text       string
		parameters string
	}{
		{PostgreSQL, "SELECT :epoch", "SELECT $1", "epoch"},
		{SQLite, "SELECT :epoch", "SELECT ?", "epoch"},
		{PostgreSQL, " SELECT :key, :epoch, :key ;\n-- done\n", "SELECT $1, $2, $3 \n-- done", "key epoch key"},
		{PostgreSQL, "SELECT :entityId::bigint", "SELECT $1::bigint", "entityId"},
		{PostgreSQL, "SELECT id::text WHERE e=:epoch", "SELECT id::text WHERE e=$1", "epoch"},
		{PostgreSQL, "SELECT ':epoch', 'it''s :epoch', \":epoch\", :key", "SELECT ':epoch', 'it''s :epoch', \":epoch\", $1", "key"},
		{PostgreSQL, `SELECT E'\':epoch', 'a\', :key`, `SELECT E'\':epoch', 'a\', $1`, "key"},
		{PostgreSQL, "SELECT $$:epoch;$$, $a$ $b$ :epoch $a$, :key", "SELECT $$:epoch;$$, $a$ $b$ :epoch $a$, $1", "key"},
		{PostgreSQL, "SELECT a$b$c, :key", "SELECT a$b$c, $1", "key"},
		{PostgreSQL, "SELECT a ? 'b', a @> b, x[1 : 2], :key", "SELECT a ? 'b', a @> b, x[1 : 2], $1", "key"},
		{PostgreSQL, "SELECT 1 -- :epoch\n, :key /* :epoch ; */", "SELECT 1 -- :epoch\n, $1 /* :epoch ; */", "key"},
		{PostgreSQL, "SELECT a:key, $:key, :epoch$", "SELECT a $1, $ $2, $3 $", "key key epoch"},
		{SQLite, "SELECT `:epoch`, [:epoch], ':epoch', \":epoch\", :key", "SELECT `:epoch`, [:epoch], ':epoch', \":epoch\", ?", "key"},
		{SQLite, "SELECT 'größe', größe, :key", "SELECT 'größe', größe, ?", "key"},
	} {
		q, err := parseQuery(c.source, c.dialect)
		if err != nil || q.text != c.text || strings.Join(q.parameters, " ") != c.parameters {
			t.Errorf("%s\nis %q with %q, %v\nwant %q", c.source, q.text, q.parameters, err, c.text)
		}
	}
}

// Every parameter has a value.
func TestArguments(t *testing.T) {
	t.Parallel()
	hold := dibs.SuspectHold{
		ID: dibs.NameID("slug", "a"), Namespace: "slug", Value: "A", Canonical: "a", Epoch: 7, Principal: "shop",
		Entity: dibs.Entity{Type: "order", ID: "1"}, CorrelationID: "c", CreatedAt: time.Unix(1, 0), ExpiresAt: time.Unix(2, 0),
	}
	values, missing := query{parameters: Parameters}.arguments(hold)
	want := []any{
		hold.ID.String(), "slug:a", "slug", "A", "a", int64(7), "order", "1", "c", "shop", "1970-01-01T00:00:01.000Z", "1970-01-01T00:00:02.000Z",
	}
	if missing != "" || !slices.Equal(values, want) {
		t.Errorf("%v without %q, want %v", values, missing, want)
	}
}

func TestParseQueryRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dialect Dialect
		source  string
		want    string
	}{
		{PostgreSQL, "", "empty"},
		{PostgreSQL, " -- nothing\n;", "no parameter"},
		{PostgreSQL, "SELECT 1", "no parameter"},
		{SQLite + 1, "SELECT 1", "no parameter"}, // a dialect that does not exist
		{PostgreSQL, "SELECT ':epoch'", "no parameter"},
		{PostgreSQL, "SELECT :epoc", "unknown parameter :epoc: use :reservationId, "},
		{PostgreSQL, "SELECT :EPOCH", "unknown parameter :EPOCH"},
		{PostgreSQL, "SELECT $1", "$1 in the query is a placeholder"},
		{SQLite, "SELECT ?1", "? in the query is a placeholder"},
		{SQLite, "SELECT $a, :key", "$a in the query is a placeholder"},
		{SQLite, "SELECT @a, :key", "@a in the query is a placeholder"},
		{SQLite, "SELECT :key; DELETE FROM orders", "one statement"},
		{SQLite, "SELECT :key;;", "one statement"},
		{PostgreSQL, "SELECT ':key", "has no end"},
		{PostgreSQL, `SELECT E'\', :key`, "has no end"},
		{PostgreSQL, "SELECT $a$ :key $b$", "has no end"},
		{SQLite, "SELECT [a, :key", "has no end"},
		{PostgreSQL, "SELECT /* :key", "has no end"},
		{PostgreSQL, "SELECT /* /* */ */ :key", "differently"},
		{PostgreSQL, "SELECT \xff :key", "not valid UTF-8"},
	} {
		if q, err := parseQuery(c.source, c.dialect); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q is %q, %v, want %q", c.source, q.text, err, c.want)
		}
	}
}

// No part of a query gets lost, and only names outside of strings and comments become
// placeholders.
func FuzzParseQuery(f *testing.F) {
	for _, seed := range []string{
		"SELECT 'a' AS type, id FROM t WHERE r = :reservationId AND e = :epoch",
		"SELECT E'\\':epoch', $a$ :key $a$, x::text, \"a\"\"b\" -- c\n, :key /* d */;",
		"SELECT [a], `b`, ?, @x, $1, :=, :", "é:epoch'", "e'", "$", "$$", "/*", "--", ":é",
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, source string, postgres bool) {
		dialect := SQLite
		if postgres {
			dialect = PostgreSQL
		}
		var outside, whole strings.Builder
		for rest := source; rest != ""; {
			token, kind, err := nextToken(rest, dialect)
			if err != nil {
				break
			}
			if token == "" || !strings.HasPrefix(rest, token) {
				t.Fatalf("%q begins with %q", rest, token)
			}
			if kind != blank && kind != semicolon && !strings.ContainsAny(token[:1], "'\"`[$eE") {
				outside.WriteString(token)
			}
			whole.WriteString(token)
			rest = rest[len(token):]
		}
		q, err := parseQuery(source, dialect)
		if err != nil {
			return
		}
		if whole.String() != source {
			t.Fatalf("%q was parsed as %q", source, whole.String())
		}
		for _, name := range q.parameters {
			if !slices.Contains(Parameters, name) || !strings.Contains(outside.String(), ":"+name) {
				t.Fatalf("%q has the parameter %q", source, name)
			}
		}
		// With the names put back the query is the same, except for a ; at the end and spaces.
		if back := putBack(q, dialect); spaceless(back) != spaceless(withoutEnd(source, dialect)) {
			t.Fatalf("%q became %q by %q", source, q.text, q.parameters)
		}
	})
}

func spaceless(s string) string { return strings.Join(strings.Fields(s), "") }

// putBack replaces placeholders by their names.
func putBack(q query, dialect Dialect) string {
	var b strings.Builder
	n := 0
	for rest := q.text; rest != ""; {
		token, kind, err := nextToken(rest, dialect)
		if err != nil {
			return err.Error()
		}
		rest = rest[len(token):]
		if kind == foreign {
			token = ":" + q.parameters[n]
			n++
		}
		b.WriteString(token)
	}
	return b.String()
}

// withoutEnd removes the ; behind a statement.
func withoutEnd(source string, dialect Dialect) string {
	var b strings.Builder
	for rest := source; rest != ""; {
		token, kind, _ := nextToken(rest, dialect)
		if kind != semicolon {
			b.WriteString(token)
		}
		rest = rest[len(token):]
	}
	return b.String()
}
