package core_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/calldibs/dibs"
)

// withNames gives an entity n names, each in a namespace of its own.
func withNames(f *fixture, n int, entity dibs.Entity) {
	for i := range n {
		f.must(claim(fmt.Sprintf("ns%02d", i), "x", entity))
	}
}

func TestDeleteMany(t *testing.T) {
	t.Parallel()
	for _, n := range []int{32, 33, 65} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, map[string]dibs.Policy{"ns01": {Quarantine: time.Hour}})
			withNames(f, n, user1)
			before := f.version(user1)
			r := f.must(dibs.Delete{Entity: user1})[0]
			if r.Pending != (n > 32) || r.Version != before+1 {
				t.Errorf("deleted %d names: pending %v, version %d after %d", n, r.Pending, r.Version, before)
			}
			if !r.Pending && (len(r.Freed) != n-1 || !slices.Equal(r.Quarantined, []string{"ns01:x"})) {
				t.Errorf("freed %d, quarantined %q", len(r.Freed), r.Quarantined)
			}
			if got := f.replayed(dibs.Delete{Entity: user1}); got.Pending != r.Pending {
				t.Errorf("pending is %v, and %v when asked again", r.Pending, got.Pending)
			}
			_, err := f.Entity(f.ctx, "", user1)
			f.checkError(err, dibs.ErrEntityNotFound)
			f.refused(dibs.ErrEntityNotFound, dibs.Archive{Entity: user1})
			for i := range n { // nothing resolves from the first moment
				if r, _ := f.Resolve(f.ctx, fmt.Sprintf("ns%02d", i), "x"); r.Status < 400 {
					t.Errorf("name %d leads to %d", i, r.Status)
				}
			}
			for left := n; r.Pending && left > 0; left -= 32 {
				f.refused(dibs.ErrEntityArchived, claim("fresh", "x", user1))
				last := fmt.Sprintf("ns%02d", n-1)
				f.refused(dibs.ErrNameTaken, claim(last, "x", user2))
				f.refused(dibs.ErrEntityNotFound, decommission(last, "x", user1))
				if _, err := f.Sweep(f.ctx, 1); err != nil { // one batch of names
					t.Fatal(err)
				}
			}
			// All of it is done: the names are free, and the entity may begin again.
			if got := f.replayed(dibs.Delete{Entity: user1}); got.Pending {
				t.Error("the deletion is still pending")
			}
			for i := range n {
				want := dibs.Free
				if i == 1 {
					want = dibs.Quarantined
				}
				f.wantState(fmt.Sprintf("ns%02d", i), "x", want)
			}
			gone := f.sweep()
			if gone.Looked != 0 {
				t.Errorf("a finished deletion is still due: %+v", gone)
			}
			if n := f.one(claim("ns00", "x", user1)); n.Epoch != 2 {
				t.Errorf("the epoch is %d", n.Epoch)
			}
			if v := f.version(user1); v <= r.Version {
				t.Errorf("the version went from %d to %d", r.Version, v)
			}
			f.wantActive(user1, "x")
		})
	}
}

// A name that left the entity while its deletion is under way stays where it went.
func TestDeleteBesideOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]dibs.Policy{"brief": {AliasRetention: time.Hour}})
	f.must(claim("brief", "old", user1))
	f.must(rename("brief", "new", user1))
	f.clock.advance(time.Hour) // old is over, and nobody swept
	f.must(claim("acme.slug", "x", user1))
	r := f.must(dibs.Delete{Entity: user1})[0]
	if !slices.Equal(r.Freed, []string{"brief:new"}) || r.Pending {
		t.Errorf("the deletion gave up %q", r.Freed)
	}
	wantKinds(t, f, "brief", "old", dibs.EventClaimed, dibs.EventDemoted, dibs.EventGivenUp)
	f.wantLeads("acme.slug", "x", 200, "") // another scope, another entity
	f.refused(dibs.ErrEntityNotFound, dibs.Delete{Scope: "globex", Entity: user1})
	f.must(dibs.Delete{Scope: "acme", Entity: user1})
	f.wantLeads("acme.slug", "x", 404, "")
}

func TestArchive(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]dibs.Policy{"email": {ManyPerEntity: true}})
	f.must(claim("slug", "x", user1))
	f.must(rename("slug", "y", user1))
	if r := f.must(dibs.Archive{Entity: user1})[0]; r.Version != 3 {
		t.Errorf("the version is %d", r.Version)
	}
	if r := f.replayed(dibs.Archive{Entity: user1}); r.Version != 3 {
		t.Errorf("the version is %d", r.Version)
	}
	info, err := f.Entity(f.ctx, "", user1)
	if err != nil || !info.Archived || len(info.Names) != 2 {
		t.Errorf("it is %+v, %v", info, err)
	}
	// No new name for it, whichever way.
	f.must(reserve("slug", "z", token1))
	f.must(claim("slug", "hers", user2))
	id := dibs.NameID("slug", "z")
	for _, c := range []dibs.Command{
		claim("email", "a", user1),
		rename("slug", "z", user1),
		dibs.Rename{Namespace: "slug", Value: "z", Entity: user1, Token: token1},
		rename("slug", "x", user1),
		dibs.Confirm{ID: id, Token: token1, Entity: user1},
		dibs.Confirm{ID: id, Token: token1, Entity: user1, Replace: true},
		dibs.Transfer{Namespace: "slug", Value: "y", From: user1, To: user3},
		dibs.Transfer{Namespace: "slug", Value: "hers", From: user2, To: user1},
		dibs.Swap{Namespace: "slug", A: dibs.Named{Value: "y", Entity: user1}, B: dibs.Named{Value: "hers", Entity: user2}},
		dibs.Swap{Namespace: "slug", A: dibs.Named{Value: "hers", Entity: user2}, B: dibs.Named{Value: "y", Entity: user1}},
	} {
		f.refused(dibs.ErrEntityArchived, c)
	}
	if r := f.must(dibs.Restore{Entity: user1})[0]; r.Version != 4 {
		t.Errorf("the version is %d", r.Version)
	}
	f.wantLeads("slug", "x", 301, "y")
	f.must(dibs.Archive{Entity: user1})
	f.must(dibs.Delete{Entity: user1}) // archived or not
	f.refused(dibs.ErrEntityNotFound, dibs.Restore{Entity: user1})
	f.must(claim("slug", "x", user1)) // and it is not archived when it comes back
	f.wantLeads("slug", "x", 200, "")

	var kinds []dibs.EventKind
	for _, e := range f.events() {
		if e.ID.IsZero() {
			kinds = append(kinds, e.Kind)
			if e.Entity != user1 || e.Version == 0 || e.Key() != "" {
				t.Errorf("the event is about %+v", e)
			}
		}
	}
	want := []dibs.EventKind{dibs.EventArchived, dibs.EventRestored, dibs.EventArchived, dibs.EventDeleted}
	if !slices.Equal(kinds, want) {
		t.Errorf("the entity's events are %v, want %v", kinds, want)
	}
}

// Of several reasons the first one is given.
func TestExchangeOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	withNames(f, 33, user1)
	f.must(claim("slug", "mine", user1), claim("slug", "hers", user2), claim("slug", "its", user3))
	f.must(dibs.Delete{Entity: user1}, dibs.Archive{Entity: user2})
	give := func(value string, from, to dibs.Entity) dibs.Transfer {
		return dibs.Transfer{Namespace: "slug", Value: value, From: from, To: to}
	}
	f.refused(dibs.ErrNotOwner, give("mine", user2, user3))       // before archived
	f.refused(dibs.ErrEntityNotFound, give("mine", user1, user2)) // deleted before archived
	f.refused(dibs.ErrEntityArchived, give("hers", user2, user1)) // archived before deleting
	f.refused(dibs.ErrEntityArchived, give("its", user3, user2))  // archived before having a name
	f.refused(dibs.ErrEntityArchived, give("its", user3, user1))  // being deleted, too
	f.refused(dibs.ErrNotFound, give("nobody's", user2, user1))   // before all
	f.replayed(give("hers", user3, user2))                        // it is To's already
	f.replayed(give("hers", user2, user2))                        // to itself
	swap := func(a string, ea dibs.Entity, b string, eb dibs.Entity) dibs.Swap {
		return dibs.Swap{Namespace: "slug", A: dibs.Named{Value: a, Entity: ea}, B: dibs.Named{Value: b, Entity: eb}}
	}
	f.refused(dibs.ErrInvalidEntity, swap("mine", user1, "hers", user1))
	f.refused(dibs.ErrInvalidValue, swap("mine", user1, "mine", user2))
	f.refused(dibs.ErrNotOwner, swap("mine", user1, "its", user2))
	f.refused(dibs.ErrNotOwner, swap("its", user1, "hers", user2))
	f.refused(dibs.ErrEntityNotFound, swap("mine", user1, "hers", user2)) // deleted before archived
	f.refused(dibs.ErrEntityNotFound, swap("mine", user1, "its", user3))
	f.refused(dibs.ErrEntityNotFound, swap("its", user3, "mine", user1))
}
