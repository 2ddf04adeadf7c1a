package rules_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// fixedBugs are rules that the registry broke once. Each function reports whether the rule holds.
var fixedBugs = map[string]func(f *coretest.Fixture) bool{
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
	"a Swap checks for deleted entities before archived ones": func(f *coretest.Fixture) bool {
		withNames(f, 33, coretest.User2)
		f.Must(coretest.Claim("slug", "a", coretest.User1), coretest.Claim("slug", "b", coretest.User2))
		f.Must(dibs.Archive{Entity: coretest.User1}, dibs.Delete{Entity: coretest.User2})
		_, err := f.Swap(f.Ctx, dibs.Swap{
			Namespace: "slug", A: dibs.Named{Value: "a", Entity: coretest.User1}, B: dibs.Named{Value: "b", Entity: coretest.User2},
		})
		return errors.Is(err, dibs.ErrEntityNotFound)
	},
	"Exists without an entity is not Absent": func(f *coretest.Fixture) bool {
		f.Must(coretest.Reserve("watched", "x", coretest.Token1))
		f.Clock.Advance(aHold)
		_, err := f.Settle(f.Ctx, dibs.Settle{ID: dibs.NameID("watched", "x"), Verdict: dibs.Exists(noEntity)})
		return errors.Is(err, dibs.ErrInvalidEntity)
	},
	"a name that is claimed again begins a chain of its own": func(f *coretest.Fixture) bool {
		f.Must(coretest.Claim("email", "x", coretest.User1), follow("x", "z", coretest.User1))
		f.Must(coretest.Decommission("email", "x", coretest.User1), coretest.Claim("email", "x", coretest.User1))
		_, err := f.Rename(f.Ctx, follow("z", "y", coretest.User1)) // z is still active
		return err == nil
	},
	"a name that is transferred back begins a chain of its own": func(f *coretest.Fixture) bool {
		f.Must(coretest.Claim("email", "x", coretest.User1), follow("x", "z", coretest.User1))
		f.Must(dibs.Transfer{Namespace: "email", Value: "x", From: coretest.User1, To: coretest.User2})
		f.Must(dibs.Transfer{Namespace: "email", Value: "x", From: coretest.User2, To: coretest.User1})
		_, err := f.Rename(f.Ctx, follow("z", "y", coretest.User1))
		return err == nil
	},
	"an alias of a chain that ended does not redirect to another chain": func(f *coretest.Fixture) bool {
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
	"a Rename to a held name takes the spelling of the command, so that it can be replayed": func(f *coretest.Fixture) bool {
		f.Must(coretest.Reserve("folded", "alice", coretest.Token1))
		r := dibs.Rename{Namespace: "folded", Value: "Alice", Entity: coretest.User1, Token: coretest.Token1}
		renamed := f.One(r)
		results, err := f.Apply(f.Ctx, r)
		return renamed.Value == "Alice" && err == nil && results[0].Replayed
	},
}

func TestFixedBugs(t *testing.T) {
	t.Parallel()
	for rule, holds := range fixedBugs {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			policies := matrixPolicies()
			policies["email"] = dibs.Policy{ManyPerEntity: true}
			policies["folded"] = dibs.Policy{Profile: folding{}}
			if !holds(coretest.NewFixture(t, policies)) {
				t.Error("the rule is broken again")
			}
		})
	}
}
