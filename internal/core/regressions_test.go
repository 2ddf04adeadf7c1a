package core_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/calldibs/dibs"
)

// brokenOnce are rules that a registry was found to break, each with a look at
// whether it is kept.
var brokenOnce = map[string]func(f *fixture) bool{
	"an Apply of nothing is INVALID_VALUE": func(f *fixture) bool {
		_, err := f.Apply(f.ctx)
		return errors.Is(err, dibs.ErrInvalidValue)
	},
	"a command that is nil is refused, not a panic": func(f *fixture) (refused bool) {
		defer func() {
			if recover() != nil {
				refused = false
			}
		}()
		_, err := f.Apply(f.ctx, nil)
		return err != nil
	},
	"a Swap looks for deleted entities before archived ones": func(f *fixture) bool {
		withNames(f, 33, user2)
		f.must(claim("slug", "a", user1), claim("slug", "b", user2))
		f.must(dibs.Archive{Entity: user1}, dibs.Delete{Entity: user2})
		_, err := f.Swap(f.ctx, dibs.Swap{
			Namespace: "slug", A: dibs.Named{Value: "a", Entity: user1}, B: dibs.Named{Value: "b", Entity: user2},
		})
		return errors.Is(err, dibs.ErrEntityNotFound)
	},
	"a verdict that names no entity is not that it is absent": func(f *fixture) bool {
		f.must(reserve("watched", "x", token1))
		f.clock.advance(aHold)
		_, err := f.Settle(f.ctx, dibs.Settle{ID: dibs.NameID("watched", "x"), Verdict: dibs.Exists(nobody)})
		return errors.Is(err, dibs.ErrInvalidEntity)
	},
	"a name that comes back begins a line of its own": func(f *fixture) bool {
		f.must(claim("email", "x", user1), follow("x", "z", user1))
		f.must(decommission("email", "x", user1), claim("email", "x", user1))
		_, err := f.Rename(f.ctx, follow("z", "y", user1)) // z is active as ever
		return err == nil
	},
	"a name that is given back begins a line of its own": func(f *fixture) bool {
		f.must(claim("email", "x", user1), follow("x", "z", user1))
		f.must(dibs.Transfer{Namespace: "email", Value: "x", From: user1, To: user2})
		f.must(dibs.Transfer{Namespace: "email", Value: "x", From: user2, To: user1})
		_, err := f.Rename(f.ctx, follow("z", "y", user1))
		return err == nil
	},
	"an alias of a line that ended does not lead to another line": func(f *fixture) bool {
		f.must(claim("email", "x", user1), follow("x", "y", user1), follow("y", "z", user1))
		f.must(decommission("email", "z", user1), decommission("email", "x", user1), claim("email", "x", user1))
		r, err := f.Resolve(f.ctx, "email", "y")
		return err == nil && r.Status == 410
	},
	"a Rename gives no entity more than 1,000 active names": func(f *fixture) bool {
		for i := range 1000 {
			f.must(claim("email", fmt.Sprint(i), user1))
		}
		if _, err := f.Claim(f.ctx, claim("slug", "x", user1)); !errors.Is(err, dibs.ErrTooLarge) {
			f.t.Errorf("one more by Claim: %v", err)
		}
		_, err := f.Rename(f.ctx, rename("slug", "x", user1))
		return errors.Is(err, dibs.ErrTooLarge)
	},
	"a Rename to a held name spells it as asked, so that it can be replayed": func(f *fixture) bool {
		f.must(reserve("folded", "alice", token1))
		r := dibs.Rename{Namespace: "folded", Value: "Alice", Entity: user1, Token: token1}
		f.must(r)
		results, err := f.Apply(f.ctx, r)
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
			if !kept(newFixture(t, policies)) {
				t.Error("it is broken again")
			}
		})
	}
}
