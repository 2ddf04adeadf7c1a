package rules

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/calldibs/dibs"
)

const maxEntityPart = 255

// checkEntity says what is wrong with an entity that a command needs.
func checkEntity(e dibs.Entity) *dibs.Error {
	for _, part := range []struct{ what, text string }{{"type", e.Type}, {"id", e.ID}} {
		if problem := textProblem(part.text, 1, maxEntityPart); problem != "" {
			return &dibs.Error{Code: dibs.CodeInvalidEntity, Message: fmt.Sprintf("the entity's %s %s", part.what, problem)}
		}
	}
	return nil
}

// checkOptionalEntity is checkEntity for an entity that may be left out altogether.
func checkOptionalEntity(e dibs.Entity) *dibs.Error {
	if e.IsZero() {
		return nil
	}
	return checkEntity(e)
}

// textProblem says what keeps s from being a text of min to max bytes of UTF-8
// without control characters, or nothing.
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

// quote shows untrusted text in a message: escaped, and cut when it is long.
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

const maxPrincipal = 255

func checkPrincipal(p dibs.Principal) *dibs.Error {
	if problem := textProblem(p.Name, 0, maxPrincipal); problem != "" {
		return &dibs.Error{Code: dibs.CodeInvalidValue, Message: fmt.Sprintf("the principal's name %s", problem)}
	}
	return nil
}

// recordID returns the ID of a record that is identified by a text.
func recordID(text string) dibs.ID {
	sum := sha256.Sum256([]byte(text))
	return dibs.ID(sum[:len(dibs.ID{})])
}
