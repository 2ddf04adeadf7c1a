package dibs

import (
	"strings"
)

// ScopeOf returns a namespace's scope: what stands before its last dot, and nothing where
// there is none. It does not check the namespace.
func ScopeOf(namespace string) string {
	return namespace[:max(0, strings.LastIndexByte(namespace, '.'))]
}
