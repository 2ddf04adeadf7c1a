package rules_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// brokenOnce are rules that a registry was found to break, each with a look at
// whether it is kept.
var brokenOnce = map[string]func(f *coretest.Fixture) bool{
	"an Apply of nothing is INVALID_VALUE": func(f *coretest.Fixture) bool {
		_, err := f.Apply(f.Ctx)
		return errors.Is(err, dibs.ErrInvalidValue)
	},
	"a command that is nil is refused, not a panic": func(f *coretest.Fixture) (refused bool) {
		defer func() {
			if recover() != nil {
				refused = false
			}
		}()
		_, err := f.Apply(f.Ctx, nil)
		return err != nil
	},
	"a Swap looks for deleted entities before archived ones": func(f *coretest.Fixture) bool {
		withNames(f, 33, coretest.User2)
		f.Must(coretest.Claim("slug", "a", coretest.User1), coretest.Claim("slug", "b", coretest.User2))
		f.Must(dibs.Archive{Entity: coretest.User1}, dibs.Delete{Entity: coretest.User2})
		_, err := f.Swap(f.Ctx, dibs.Swap{
			Namespace: "slug", A: dibs.Named{Value: "a", Entity: coretest.User1}, B: dibs.Named{Value: "b", Entity: coretest.User2},
		})
		return errors.Is(err, dibs.ErrEntityNotFound)
	},
	"a verdict that names no entity is not that it is absent": func(f *coretest.Fixture) bool {
		f.Must(coretest.Reserve("watched", "x", coretest.Token1))
		f.Clock.Advance(aHold)
		_, err := f.Settle(f.Ctx, dibs.Settle{ID: dibs.NameID("watched", "x"), Verdict: dibs.Exists(nobody)})
		return errors.Is(err, dibs.ErrInvalidEntity)
	},
	"a name that comes back begins a line of its own": func(f *coretest.Fixture) bool {
		f.Must(coretest.Claim("email", "x", coretest.User1), follow("x", "z", coretest.User1))
		f.Must(coretest.Decommission("email", "x", coretest.User1), coretest.Claim("email", "x", coretest.User1))
		_, err := f.Rename(f.Ctx, follow("z", "y", coretest.User1)) // z is active as ever
		return err == nil
	},
	"a name that is given back begins a line of its own": func(f *coretest.Fixture) bool {
		f.Must(coretest.Claim("email", "x", coretest.User1), follow("x", "z", coretest.User1))
		f.Must(dibs.Transfer{Namespace: "email", Value: "x", From: coretest.User1, To: coretest.User2})
		f.Must(dibs.Transfer{Namespace: "email", Value: "x", From: coretest.User2, To: coretest.User1})
		_, err := f.Rename(f.Ctx, follow("z", "y", coretest.User1))
		return err == nil
	},
	"an alias of a line that ended does not lead to another line": func(f *coretest.Fixture) bool {
		f.Must(coretest.Claim("email", "x", coretest.User1), follow("x", "y", coretest.User1), follow("y", "z", coretest.User1))
		f.Must(coretest.Decommission("email", "z", coretest.User1), coretest.Decommission("email", "x", coretest.User1), coretest.Claim("email", "x", coretest.User1))
		r, err := f.Resolve(f.Ctx, "email", "y")
		return err == nil && r.Status == 410
	},
	"a Rename gives no entity more than 1,000 active names": func(f *coretest.Fixture) bool {
		for i := range 1000 {
			f.Must(coretest.Claim("email", fmt.Sprint(i), coretest.User1))
		}
		if _, err := f.Claim(f.Ctx, coretest.Claim("slug", "x", coretest.User1)); !errors.Is(err, dibs.ErrTooLarge) {
			f.T.Errorf("one more by Claim: %v", err)
		}
		_, err := f.Rename(f.Ctx, coretest.Rename("slug", "x", coretest.User1))
		return errors.Is(err, dibs.ErrTooLarge)
	},
	"a Rename to a held name spells it as asked, so that it can be replayed": func(f *coretest.Fixture) bool {
		f.Must(coretest.Reserve("folded", "alice", coretest.Token1))
		r := dibs.Rename{Namespace: "folded", Value: "Alice", Entity: coretest.User1, Token: coretest.Token1}
		f.Must(r)
		results, err := f.Apply(f.Ctx, r)
		return err == nil && results[0].Replayed
	},
}

func TestRulesBrokenOnce(t *testing.T) {
	t.Parallel()
	for rule, kept := range brokenOnce {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			policies := matrixPolicies()
			policies["email"] = dibs.Policy{ManyPerEntity: true}
			policies["folded"] = dibs.Policy{Profile: folding{}}
			if !kept(coretest.NewFixture(t, policies)) {
				t.Error("it is broken again")
			}
		})
	}
}
