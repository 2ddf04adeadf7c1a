package witness

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/calldibs/dibs"
)

// Parameters are the parameters of a query, each written with a colon in front.
var Parameters = []string{
	"reservationId", "key", "namespace", "value", "canonical", "epoch", "entityType", "entityId", "correlationId", "principal",
	"createdAt", "expiresAt",
}

// argument returns the value of a parameter. Nil means that the hold has none.
func argument(name string, hold dibs.SuspectHold) any {
	value := map[string]any{
		"reservationId": hold.ID.String(), "key": hold.Key(), "namespace": hold.Namespace, "value": hold.Value, "canonical": hold.Canonical,
		"epoch":      int64(hold.Epoch), //nolint:gosec // epochs count up from 1
		"entityType": hold.Entity.Type, "entityId": hold.Entity.ID, "correlationId": hold.CorrelationID, "principal": hold.Principal,
		"createdAt": formatTime(hold.CreatedAt), "expiresAt": formatTime(hold.ExpiresAt),
	}[name]
	if value == "" {
		return nil
	}
	return value
}

// query is a statement with placeholders, for the driver.
type query struct {
	text string
	// parameters are the names for the placeholders, in order. A name that occurs twice gets
	// two placeholders, which may have different types.
	parameters []string
}

// parseQuery replaces :names by placeholders, but not in string literals, quoted names, comments
// and casts.
func parseQuery(source string, dialect Dialect) (query, error) {
	if !utf8.ValidString(source) || strings.ContainsRune(source, 0) {
		return query{}, errors.New("the query is not valid UTF-8 text")
	}
	var q query
	var b strings.Builder
	ended := false
	for rest := source; rest != ""; {
		token, kind, err := nextToken(rest, dialect)
		if err != nil {
			return query{}, err
		}
		rest = rest[len(token):]
		if kind == blank {
			b.WriteString(token)
			continue
		}
		if ended {
			return query{}, errors.New("the query must be one statement: remove what follows the ;")
		}
		switch kind {
		case semicolon:
			ended = true
		case foreign:
			return query{}, fmt.Errorf("%s in the query is a placeholder of the database: "+
				"write the name of a parameter, as in :reservationId", token)
		case parameter:
			name := token[1:]
			if !slices.Contains(Parameters, name) {
				return query{}, fmt.Errorf("unknown parameter %s: use :%s", token, strings.Join(Parameters, ", :"))
			}
			q.parameters = append(q.parameters, name)
			b.WriteString(separated(b.String(), dialect.placeholder(len(q.parameters)), rest))
		default:
			b.WriteString(token)
		}
	}
	q.text = strings.TrimSpace(b.String())
	return q, q.check()
}

// separated adds spaces to a placeholder that would merge with the text before or behind it.
func separated(before, placeholder, behind string) string {
	if last, _ := utf8.DecodeLastRuneInString(before); last == '$' || isWordRune(last) {
		placeholder = " " + placeholder
	}
	if strings.HasPrefix(behind, "$") {
		placeholder += " "
	}
	return placeholder
}

func (q query) check() error {
	switch {
	case q.text == "":
		return errors.New("the query is empty")
	case len(q.parameters) == 0:
		return errors.New("the query has no parameter and would answer the same for every hold: use :reservationId, for example")
	}
	return nil
}

// arguments returns the values of the placeholders, and the first parameter without a value;
// empty if all have one.
func (q query) arguments(hold dibs.SuspectHold) (values []any, missing string) {
	for _, name := range q.parameters {
		value := argument(name, hold)
		if value == nil && missing == "" {
			missing = name
		}
		values = append(values, value)
	}
	return values, missing
}

// Dialect is a dialect of SQL.
type Dialect int

// The dialects.
const (
	PostgreSQL Dialect = iota
	SQLite
)

func (d Dialect) placeholder(n int) string {
	if d == PostgreSQL {
		return "$" + strconv.Itoa(n)
	}
	return "?"
}
