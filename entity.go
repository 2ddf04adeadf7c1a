package dibs

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxEntityPart = 255

// Entity is the thing that owns names: a user, a product, a wedding. Type and
// ID are strings of the caller's choosing, 1 to 255 bytes of UTF-8 without
// control characters. The zero Entity stands for none.
//
// Entities live in the scope of the namespace in which they own names:
// user/42 in "acme.slug" and user/42 in "globex.slug" are two entities.
type Entity struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

// IsZero reports whether there is no entity.
func (e Entity) IsZero() bool { return e == Entity{} }

// String returns the entity as type/id.
func (e Entity) String() string { return e.Type + "/" + e.ID }

// checkEntity says what is wrong with an entity that a command needs.
func checkEntity(e Entity) *Error {
	for _, part := range []struct{ what, text string }{{"type", e.Type}, {"id", e.ID}} {
		if problem := textProblem(part.text, 1, maxEntityPart); problem != "" {
			return &Error{Code: CodeInvalidEntity, Message: fmt.Sprintf("the entity's %s %s", part.what, problem)}
		}
	}
	return nil
}

// checkOptionalEntity is checkEntity for an entity that may be left out altogether.
func checkOptionalEntity(e Entity) *Error {
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
