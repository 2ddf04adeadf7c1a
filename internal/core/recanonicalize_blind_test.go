package core_test

import (
	"testing"

	"github.com/calldibs/dibs"
)

// Nobody knows the values of a blind namespace, so its names stay under the rules that
// they were made by: nothing is changed, and nothing is given away.
func TestRecanonicalizeBlindNames(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(p *dibs.Policy){
		"another profile":     func(p *dibs.Policy) { p.Profile = dibs.Exact },
		"look-alikes allowed": func(p *dibs.Policy) { p.Skeleton = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, blind(keyA))
			f.must(claim("email", secretValue, user1))
			p := blind(keyA)["email"]
			change(&p)
			g := f.reopened(map[string]dibs.Policy{"email": p})
			for _, dry := range []bool{true, false} {
				_, err := g.Recanonicalize(g.ctx, dibs.RecanonicalizeRequest{Namespace: "email", DryRun: dry})
				f.checkError(err, dibs.ErrInvalidNamespace)
			}
			f.refused(dibs.ErrNameTaken, claim("email", secretValue, user2))
			f.must(claim("email", "new-"+secretValue, user2)) // the rules are what they were
		})
	}
}
