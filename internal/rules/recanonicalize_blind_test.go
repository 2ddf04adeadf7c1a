package rules_test

import (
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
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
			f := coretest.NewFixture(t, blind(keyA))
			f.Must(coretest.Claim("email", secretValue, coretest.User1))
			p := blind(keyA)["email"]
			change(&p)
			g := f.Reopened(map[string]dibs.Policy{"email": p})
			for _, dry := range []bool{true, false} {
				_, err := g.Recanonicalize(g.Ctx, dibs.RecanonicalizeRequest{Namespace: "email", DryRun: dry})
				f.CheckError(err, dibs.ErrInvalidNamespace)
			}
			f.Refused(dibs.ErrNameTaken, coretest.Claim("email", secretValue, coretest.User2))
			f.Must(coretest.Claim("email", "new-"+secretValue, coretest.User2)) // the rules are what they were
		})
	}
}
