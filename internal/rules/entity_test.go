package rules_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// withNames gives an entity n names, each in a namespace of its own.
func withNames(f *coretest.Fixture, n int, entity dibs.Entity) {
	for i := range n {
		f.Must(coretest.Claim(fmt.Sprintf("ns%02d", i), "x", entity))
	}
}

func TestDeleteMany(t *testing.T) {
	t.Parallel()
	for _, n := range []int{32, 33, 65} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			f := coretest.NewFixture(t, map[string]dibs.Policy{"ns01": {Quarantine: time.Hour}})
			withNames(f, n, coretest.User1)
			before := versionOf(f, coretest.User1)
			r := f.Must(dibs.Delete{Entity: coretest.User1})[0]
			if r.Pending != (n > 32) || r.Version != before+1 {
				t.Errorf("deleted %d names: pending %v, version %d after %d", n, r.Pending, r.Version, before)
			}
			if !r.Pending && (len(r.Freed) != n-1 || !slices.Equal(r.Quarantined, []string{"ns01:x"})) {
				t.Errorf("freed %d, quarantined %q", len(r.Freed), r.Quarantined)
			}
			if got := f.Replayed(dibs.Delete{Entity: coretest.User1}); got.Pending != r.Pending {
				t.Errorf("pending is %v, and %v when repeated", r.Pending, got.Pending)
			}
			_, err := f.Entity(f.Ctx, "", coretest.User1)
			f.WantError(err, dibs.ErrEntityNotFound)
			f.Refused(dibs.ErrEntityNotFound, dibs.Archive{Entity: coretest.User1})
			for i := range n { // no name resolves any more
				if r, _ := f.Resolve(f.Ctx, fmt.Sprintf("ns%02d", i), "x"); r.Status < 400 {
					t.Errorf("name %d resolves to %d", i, r.Status)
				}
			}
			for left := n; r.Pending && left > 0; left -= 32 {
				f.Refused(dibs.ErrEntityArchived, coretest.Claim("fresh", "x", coretest.User1))
				last := fmt.Sprintf("ns%02d", n-1)
				f.Refused(dibs.ErrNameTaken, coretest.Claim(last, "x", coretest.User2))
				f.Refused(dibs.ErrEntityNotFound, coretest.Decommission(last, "x", coretest.User1))
				if _, err := f.Sweep(f.Ctx, 1); err != nil { // one batch of names
					t.Fatal(err)
				}
			}
			// The deletion is complete: the names are free, and the entity may have names again.
			if got := f.Replayed(dibs.Delete{Entity: coretest.User1}); got.Pending {
				t.Error("the deletion is still pending")
			}
			for i := range n {
				want := dibs.Free
				if i == 1 {
					want = dibs.Quarantined
				}
				f.WantState(fmt.Sprintf("ns%02d", i), "x", want)
			}
			gone := f.SweepAll()
			if gone.Looked != 0 {
				t.Errorf("a finished deletion is still due: %+v", gone)
			}
			if n := f.One(coretest.Claim("ns00", "x", coretest.User1)); n.Epoch != 2 {
				t.Errorf("the epoch is %d", n.Epoch)
			}
			if v := versionOf(f, coretest.User1); v <= r.Version {
				t.Errorf("the version went from %d to %d", r.Version, v)
			}
			f.WantActive(coretest.User1, "x")
		})
	}
}

// While a deletion is pending, no command gives the entity a name or takes one of its names.
func TestDeletePending(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"email": {ManyPerEntity: true}})
	for i := range 70 {
		f.Must(coretest.Claim("email", fmt.Sprint(i), coretest.User1))
	}
	f.Must(coretest.Claim("email", "other", coretest.User2), coretest.Reserve("email", "held", coretest.Token1))
	f.Must(dibs.Delete{Entity: coretest.User1})
	f.WantResolve("email", "69", 410, "")
	swap := dibs.Swap{Namespace: "email", A: dibs.Named{Value: "1", Entity: coretest.User1}, B: dibs.Named{Value: "other", Entity: coretest.User2}}
	for _, c := range []struct {
		command dibs.Command
		want    error
	}{
		{coretest.Claim("email", "new", coretest.User1), dibs.ErrEntityArchived},
		{dibs.Rename{Namespace: "email", Value: "new", From: "1", Entity: coretest.User1}, dibs.ErrEntityArchived},
		{dibs.Confirm{ID: dibs.NameID("email", "held"), Token: coretest.Token1, Entity: coretest.User1}, dibs.ErrEntityArchived},
		{dibs.Transfer{Namespace: "email", Value: "other", From: coretest.User2, To: coretest.User1}, dibs.ErrEntityArchived},
		{dibs.Transfer{Namespace: "email", Value: "1", From: coretest.User1, To: coretest.User2}, dibs.ErrEntityNotFound},
		{swap, dibs.ErrEntityNotFound},
		{coretest.Decommission("email", "1", coretest.User1), dibs.ErrEntityNotFound},
		{dibs.Archive{Entity: coretest.User1}, dibs.ErrEntityNotFound},
		{dibs.Restore{Entity: coretest.User1}, dibs.ErrEntityNotFound},
		{coretest.Claim("email", "1", coretest.User2), dibs.ErrNameTaken},
	} {
		f.Refused(c.want, c.command)
	}
}

// A deletion leaves alone names that the entity has lost and names of other scopes.
func TestDeleteLeavesOtherNames(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"brief": {AliasRetention: time.Hour}})
	f.Must(coretest.Claim("brief", "old", coretest.User1))
	f.Must(coretest.Rename("brief", "new", coretest.User1))
	f.Clock.Advance(time.Hour) // the retention of old is over, without a sweep
	f.Must(coretest.Claim("acme.slug", "x", coretest.User1))
	r := f.Must(dibs.Delete{Entity: coretest.User1})[0]
	if !slices.Equal(r.Freed, []string{"brief:new"}) || r.Pending {
		t.Errorf("the deletion freed %q, want brief:new", r.Freed)
	}
	f.WantKinds("brief", "old", dibs.EventClaimed, dibs.EventDemoted, dibs.EventGivenUp)
	f.WantResolve("acme.slug", "x", 200, "") // another scope, another entity
	f.Refused(dibs.ErrEntityNotFound, dibs.Delete{Scope: "globex", Entity: coretest.User1})
	f.Must(dibs.Delete{Scope: "acme", Entity: coretest.User1})
	f.WantResolve("acme.slug", "x", 404, "")
}

func TestArchive(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"email": {ManyPerEntity: true}})
	f.Must(coretest.Claim("slug", "x", coretest.User1))
	f.Must(coretest.Rename("slug", "y", coretest.User1))
	if r := f.Must(dibs.Archive{Entity: coretest.User1})[0]; r.Version != 3 {
		t.Errorf("the version is %d", r.Version)
	}
	if r := f.Replayed(dibs.Archive{Entity: coretest.User1}); r.Version != 3 {
		t.Errorf("the version is %d", r.Version)
	}
	info, err := f.Entity(f.Ctx, "", coretest.User1)
	if err != nil || !info.Archived || len(info.Names) != 2 {
		t.Errorf("Entity = %+v, %v", info, err)
	}
	// No command gives it a new name.
	f.Must(coretest.Reserve("slug", "z", coretest.Token1))
	f.Must(coretest.Claim("slug", "hers", coretest.User2))
	id := dibs.NameID("slug", "z")
	for _, c := range []dibs.Command{
		coretest.Claim("email", "a", coretest.User1),
		coretest.Rename("slug", "z", coretest.User1),
		dibs.Rename{Namespace: "slug", Value: "z", Entity: coretest.User1, Token: coretest.Token1},
		coretest.Rename("slug", "x", coretest.User1),
		dibs.Confirm{ID: id, Token: coretest.Token1, Entity: coretest.User1},
		dibs.Confirm{ID: id, Token: coretest.Token1, Entity: coretest.User1, Replace: true},
		dibs.Transfer{Namespace: "slug", Value: "y", From: coretest.User1, To: coretest.User3},
		dibs.Transfer{Namespace: "slug", Value: "hers", From: coretest.User2, To: coretest.User1},
		dibs.Swap{Namespace: "slug", A: dibs.Named{Value: "y", Entity: coretest.User1}, B: dibs.Named{Value: "hers", Entity: coretest.User2}},
		dibs.Swap{Namespace: "slug", A: dibs.Named{Value: "hers", Entity: coretest.User2}, B: dibs.Named{Value: "y", Entity: coretest.User1}},
	} {
		f.Refused(dibs.ErrEntityArchived, c)
	}
	if r := f.Must(dibs.Restore{Entity: coretest.User1})[0]; r.Version != 4 {
		t.Errorf("the version is %d", r.Version)
	}
	f.WantResolve("slug", "x", 301, "y")
	f.Must(dibs.Archive{Entity: coretest.User1})
	f.Must(dibs.Delete{Entity: coretest.User1}) // archived or not
	f.Refused(dibs.ErrEntityNotFound, dibs.Restore{Entity: coretest.User1})
	f.Must(coretest.Claim("slug", "x", coretest.User1)) // and it is not archived when it has names again
	f.WantResolve("slug", "x", 200, "")

	var kinds []dibs.EventKind
	for _, e := range f.AllEvents() {
		if e.ID.IsZero() {
			kinds = append(kinds, e.Kind)
			if e.Entity != coretest.User1 || e.Version == 0 || e.Key() != "" {
				t.Errorf("the event is about %+v", e)
			}
		}
	}
	want := []dibs.EventKind{dibs.EventArchived, dibs.EventRestored, dibs.EventArchived, dibs.EventDeleted}
	if !slices.Equal(kinds, want) {
		t.Errorf("the entity's events are %v, want %v", kinds, want)
	}
}

// Where several reasons apply, Transfer and Swap refuse with the first in this order.
func TestExchangeRefusalOrder(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	withNames(f, 33, coretest.User1)
	f.Must(coretest.Claim("slug", "mine", coretest.User1), coretest.Claim("slug", "hers", coretest.User2), coretest.Claim("slug", "its", coretest.User3))
	f.Must(dibs.Delete{Entity: coretest.User1}, dibs.Archive{Entity: coretest.User2})
	give := func(value string, from, to dibs.Entity) dibs.Transfer {
		return dibs.Transfer{Namespace: "slug", Value: value, From: from, To: to}
	}
	f.Refused(dibs.ErrNotOwner, give("mine", coretest.User2, coretest.User3))       // before archived
	f.Refused(dibs.ErrEntityNotFound, give("mine", coretest.User1, coretest.User2)) // deleted before archived
	f.Refused(dibs.ErrEntityArchived, give("hers", coretest.User2, coretest.User1)) // archived before deleting
	f.Refused(dibs.ErrEntityArchived, give("its", coretest.User3, coretest.User2))  // archived before having a name
	f.Refused(dibs.ErrEntityArchived, give("its", coretest.User3, coretest.User1))  // being deleted, too
	f.Refused(dibs.ErrNotFound, give("absent", coretest.User2, coretest.User1))     // before all
	f.Replayed(give("hers", coretest.User3, coretest.User2))                        // To has it already
	f.Replayed(give("hers", coretest.User2, coretest.User2))                        // to itself
	swap := func(a string, ea dibs.Entity, b string, eb dibs.Entity) dibs.Swap {
		return dibs.Swap{Namespace: "slug", A: dibs.Named{Value: a, Entity: ea}, B: dibs.Named{Value: b, Entity: eb}}
	}
	f.Refused(dibs.ErrInvalidEntity, swap("mine", coretest.User1, "hers", coretest.User1))
	f.Refused(dibs.ErrInvalidValue, swap("mine", coretest.User1, "mine", coretest.User2))
	f.Refused(dibs.ErrNotOwner, swap("mine", coretest.User1, "its", coretest.User2))
	f.Refused(dibs.ErrNotOwner, swap("its", coretest.User1, "hers", coretest.User2))
	f.Refused(dibs.ErrEntityNotFound, swap("mine", coretest.User1, "hers", coretest.User2)) // deleted before archived
	f.Refused(dibs.ErrEntityNotFound, swap("mine", coretest.User1, "its", coretest.User3))
	f.Refused(dibs.ErrEntityNotFound, swap("its", coretest.User3, "mine", coretest.User1))
}

// A deletion is complete once the entity has no names, also if others have given up the last ones.
func TestDeletionEndsWithoutNames(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	withNames(f, 33, coretest.User1)
	if r := f.Must(dibs.Delete{Entity: coretest.User1})[0]; !r.Pending {
		t.Fatal("not pending")
	}
	for i := range 33 {
		f.MustForget(dibs.ForgetRequest{Namespace: fmt.Sprintf("ns%02d", i), Value: "x", Entity: coretest.User1})
	}
	f.Refused(dibs.ErrEntityArchived, coretest.Claim("slug", "x", coretest.User1))
	f.SweepAll()
	f.Must(coretest.Claim("slug", "x", coretest.User1))
}
