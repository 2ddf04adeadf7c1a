package access_test

import (
	"testing"

	"github.com/calldibs/dibs/internal/access"
)

func TestMaySomewhere(t *testing.T) {
	t.Parallel()
	caller := access.Caller{Grants: []access.Grant{
		{Verbs: []access.Verb{access.Read}, Namespaces: []string{"*"}},
		{Verbs: []access.Verb{access.Hold}, Namespaces: []string{"acme.slug"}},
	}}
	for verb, want := range map[access.Verb]bool{access.Get: true, access.Confirm: true, access.Settle: false, access.Claim: false} {
		if got := caller.MaySomewhere(verb); got != want {
			t.Errorf("%s: %v, want %v", verb, got, want)
		}
	}
}
