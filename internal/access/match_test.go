package access_test

import (
	"testing"

	"github.com/calldibs/dibs/internal/access"
)

// A grant for a scope does not count in one that only begins like it.
func TestScopesThatBeginAlike(t *testing.T) {
	t.Parallel()
	for namespace, want := range map[string]bool{"acme.slug": true, "acme.eu.slug": true, "acme-evil.slug": false, "acmes.slug": false, "acme": false} {
		if got := access.Match([]string{"acme.*"}, namespace); got != want {
			t.Errorf("acme.* matches %s: %v", namespace, got)
		}
	}
}
