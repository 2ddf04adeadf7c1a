package witness

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/calldibs/dibs"
)

// Parameters are the parameters of a query, each written with a colon in front.
var Parameters = []string{
	"reservationId", "key", "namespace", "value", "canonical", "epoch", "entityType", "entityId", "correlationId", "principal",
	"createdAt", "expiresAt",
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
	known := map[string]any{
		"reservationId": hold.ID.String(), "key": hold.Key(), "namespace": hold.Namespace, "value": hold.Value, "canonical": hold.Canonical,
		"epoch":      int64(hold.Epoch), //nolint:gosec // epochs count up from 1
		"entityType": hold.Entity.Type, "entityId": hold.Entity.ID, "correlationId": hold.CorrelationID, "principal": hold.Principal,
		"createdAt": formatTime(hold.CreatedAt), "expiresAt": formatTime(hold.ExpiresAt),
	}
	for _, name := range q.parameters {
		value := known[name]
		if value == "" {
			value, missing = nil, cmp.Or(missing, name)
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

type kind int

const (
	other     kind = iota // words, numbers, operators, string literals, quoted names
	blank                 // spaces and comments
	parameter             // :name
	semicolon
	foreign    // a placeholder of the database
	dollarText // the tag before and behind a text in PostgreSQL: $tag$text$tag$
)

var (
	errOpenText    = errors.New("a string or a quoted name in the query has no end: add the quote")
	errOpenComment = errors.New("a comment in the query has no end: add */")
	errNested      = errors.New("a comment in the query contains /*, which databases parse differently: remove it")
)

// pattern matches a kind of token. A group in it is the end of the token, and empty if that is
// missing.
type pattern struct {
	kind  kind
	text  *regexp.Regexp
	noEnd error
}

// token returns a pattern, in which \W stands for a rune of a word, and \S for its first.
func token(kind kind, text string, noEnd error) pattern {
	text = strings.NewReplacer(`\W`, `[_\pL\p{Nd}]`, `\S`, `[_\pL]`).Replace(text)
	return pattern{kind, regexp.MustCompile(`^(?s:` + text + `)`), noEnd}
}

// sharedTokens are the tokens of all dialects. The first pattern that matches counts, and those
// of a dialect come after these.
var sharedTokens = []pattern{
	token(blank, `[\t\n\v\f\r\x{85}\pZ]`, nil),
	token(blank, `--[^\n]*\n?`, nil),
	token(blank, `/\*.*?(\*/|$)`, errOpenComment),
	token(other, `::|:=`, nil),
	token(parameter, `:\S\W*`, nil),
	token(semicolon, `;`, nil),
	token(other, `'(?:[^']|'')*('?)`, errOpenText),
	token(other, `"(?:[^"]|"")*("?)`, errOpenText),
}

var dialectTokens = map[Dialect][]pattern{
	PostgreSQL: {
		token(dollarText, `\$(?:\S\W*)?\$`, nil),
		token(foreign, `\$\W+`, nil),
		token(other, `[eE]'(?:[^'\\]|\\.|'')*('?)`, errOpenText), // backslashes escape
		token(other, `\S(?:\W|\$)*`, nil),
	},
	SQLite: {
		token(other, "`(?:[^`]|``)*(`?)", errOpenText),
		token(other, `\[[^\]]*(\]?)`, errOpenText),
		token(foreign, `\?|[$]\W+|@\S\W*`, nil),
		token(other, `\S\W*`, nil),
	},
}

// nextToken returns the first token of a text that is not empty.
func nextToken(s string, dialect Dialect) (token string, k kind, err error) {
	for _, p := range slices.Concat(sharedTokens, dialectTokens[dialect]) {
		match := p.text.FindStringSubmatch(s)
		if match == nil {
			continue
		}
		token = match[0]
		switch {
		case len(match) > 1 && match[1] == "":
			return "", p.kind, p.noEnd
		case strings.HasPrefix(token, "/*") && strings.Contains(token[2:len(token)-2], "/*"):
			return "", p.kind, errNested
		case p.kind == dollarText:
			text, _, ended := strings.Cut(s[len(token):], token)
			if !ended {
				return "", other, errOpenText
			}
			return token + text + token, other, nil
		}
		return token, p.kind, nil
	}
	_, size := utf8.DecodeRuneInString(s)
	return s[:size], other, nil
}

func isWordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
