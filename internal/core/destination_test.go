package core_test

import (
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// A Resolve of a name that was resolved lately needs one Load. What it remembers never decides:
// after each change the answer is right at once.
func TestResolveLoadsOnce(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	store := &loadCounter{Store: f.Engine}
	reg := coretest.MustOpen(t, store, dibs.Config{})
	resolve := func(value string, most int, want dibs.ResolveOutcome, owner dibs.Entity, to string) {
		t.Helper()
		store.loads = 0
		r, err := reg.Resolve(f.Ctx, "slug", value)
		if err != nil || r.Outcome != want || r.Entity != owner || (r.To != nil) != (to != "") || r.To != nil && r.To.Canonical != to {
			t.Errorf("%s: %+v, %v, want %s, %v, %q", value, r, err, want, owner, to)
		}
		if store.loads > most {
			t.Errorf("%s: %d loads, want at most %d", value, store.loads, most)
		}
	}
	twice := func(value string, first int, want dibs.ResolveOutcome, owner dibs.Entity, to string) {
		t.Helper()
		resolve(value, first, want, owner, to)
		resolve(value, 1, want, owner, to)
	}
	f.Must(coretest.Claim("slug", "x", coretest.User1))
	twice("x", 2, dibs.ResolveActive, coretest.User1, "")
	f.Must(dibs.Transfer{Namespace: "slug", Value: "x", From: coretest.User1, To: coretest.User2})
	twice("x", 2, dibs.ResolveActive, coretest.User2, "")
	f.Must(dibs.Rename{Namespace: "slug", Value: "y", Entity: coretest.User2})
	twice("x", 3, dibs.ResolveMoved, coretest.User2, "y")
	f.Must(dibs.Rename{Namespace: "slug", Value: "z", Entity: coretest.User2})
	twice("x", 3, dibs.ResolveMoved, coretest.User2, "z")
	f.Must(dibs.Archive{Entity: coretest.User2})
	resolve("x", 2, dibs.ResolveNotFound, dibs.Entity{}, "")
	f.Must(dibs.Restore{Entity: coretest.User2}, dibs.Decommission{Namespace: "slug", Value: "x", Entity: coretest.User2})
	resolve("x", 2, dibs.ResolveNotFound, dibs.Entity{}, "")
}
