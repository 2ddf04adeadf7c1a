package rules

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/calldibs/dibs"
)

// refuse makes a refusal.
func refuse(code dibs.Code, format string, args ...any) *dibs.Error {
	return &dibs.Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// textProblem says why s is not a text of minLen to maxLen bytes of UTF-8 without control
// characters, or nothing.
func textProblem(s string, minLen, maxLen int) string {
	switch {
	case len(s) < minLen:
		return "is empty"
	case len(s) > maxLen:
		return fmt.Sprintf("has %d bytes, more than the %d allowed", len(s), maxLen)
	case !utf8.ValidString(s):
		return "is not valid UTF-8"
	}
	if i := strings.IndexFunc(s, unicode.IsControl); i >= 0 {
		return fmt.Sprintf("has a control character at byte %d", i)
	}
	return ""
}

// checkAtMost refuses more than allowed of something.
func checkAtMost(count, allowed int, what string) *dibs.Error {
	if count <= allowed {
		return nil
	}
	return refuse(dibs.CodeTooLarge, "%d %s, more than the %d allowed", count, what, allowed)
}

// quote shows untrusted text in a message: escaped, and cut if it is long.
func quote(s string) string {
	const most = 80
	if len(s) <= most {
		return fmt.Sprintf("%q", s)
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%q…", s[:cut])
}
