package pgproxy

import (
	"regexp"
	"slices"
	"strings"
)

// The parts of a statement that are not code: keywords in comments, literals and quoted
// names do not count.
var (
	comment = regexp.MustCompile(`(?s)--[^\n]*|/\*.*?\*/`)
	quoted  = regexp.MustCompile(`(?s)[eE]'(\\.|''|[^'\\])*'|'(''|[^'])*'|"(""|[^"])*"|` +
		`\$\$.*?\$\$|\$[A-Za-z_]\w*\$.*?\$[A-Za-z_]\w*\$`)
	noCode = regexp.MustCompile(comment.String() + "|" + quoted.String())
)

// pieces splits a text at its semicolons, without comments and with empty literals.
func pieces(sql string) []string {
	code := noCode.ReplaceAllStringFunc(sql, func(s string) string {
		if strings.HasPrefix(s, "--") || strings.HasPrefix(s, "/*") {
			return " "
		}
		return "''"
	})
	all := strings.Split(code, ";")
	for i, s := range all {
		all[i] = strings.TrimSpace(s)
	}
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

// boundary is the effect of a statement on its transaction.
type boundary int

const (
	neither boundary = iota
	begins
	commits
	rollsBack
)

var (
	beginning   = regexp.MustCompile(`(?i)^(BEGIN|START\s+TRANSACTION)\b`)
	committing  = regexp.MustCompile(`(?i)^(COMMIT|END)\b`)
	rollingBack = regexp.MustCompile(`(?i)^(ROLLBACK|ABORT)\b`)
	toSavepoint = regexp.MustCompile(`(?i)^ROLLBACK\s+((WORK|TRANSACTION)\s+)?TO\b`)
	writing     = regexp.MustCompile(`(?i)^(INSERT|UPDATE|DELETE|MERGE|COPY|CREATE|ALTER|DROP|TRUNCATE|COMMENT|GRANT|REVOKE)\b`)
	// In a WITH, a writing statement follows a parenthesis; FOR UPDATE does not.
	writingWith = regexp.MustCompile(`(?i)[()]\s*(INSERT|UPDATE|DELETE|MERGE)\b`)
	with        = regexp.MustCompile(`(?i)^WITH\b`)
)

func endsOrBegins(piece string) boundary {
	switch {
	case beginning.MatchString(piece):
		return begins
	case committing.MatchString(piece):
		return commits
	case rollingBack.MatchString(piece) && !toSavepoint.MatchString(piece):
		return rollsBack
	default:
		return neither
	}
}

func writes(piece string) bool {
	return writing.MatchString(piece) || with.MatchString(piece) && writingWith.MatchString(piece)
}

func hasCommit(sql string) bool {
	return slices.ContainsFunc(pieces(sql), func(s string) bool { return endsOrBegins(s) == commits })
}
