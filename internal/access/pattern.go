package access

import (
	"fmt"
	"strings"
)

// What a namespace may look like; package dibs has the same rules.
const (
	maxSegments = 8
	maxSegment  = 63
)

// checkPattern says what is wrong with a pattern of namespaces.
func checkPattern(pattern string) error {
	if pattern == "*" {
		return nil
	}
	// "acme.*" is well-formed if "acme.x" is.
	plain := pattern
	if scope, below := strings.CutSuffix(pattern, ".*"); below {
		plain = scope + ".x"
	}
	if !isNamespace(plain) {
		return fmt.Errorf(`%q is no pattern of namespaces: write "*" for all, "acme.*" for the scope acme and all below it, or one namespace such as "acme.slug"`, pattern)
	}
	return nil
}

func isNamespace(text string) bool {
	segments := strings.Split(text, ".")
	if len(segments) > maxSegments {
		return false
	}
	for _, s := range segments {
		if !isSegment(s) {
			return false
		}
	}
	return true
}

func isSegment(s string) bool {
	if s == "" || len(s) > maxSegment || s[0] == '-' || s[0] == '_' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}
