package rules_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// rowOf returns the row of a slug with this canonical form.
func rowOf(f *coretest.Fixture, canonical string) *dibs.NameRecord {
	f.T.Helper()
	found, err := f.Engine.Load(f.Ctx, []dibs.Ref{{Kind: dibs.KindName, ID: dibs.NameID("slug", canonical)}})
	if err != nil || len(found.Records) != 1 {
		f.T.Fatalf("%s: %+v, %v", canonical, found, err)
	}
	return found.Records[0].(*dibs.NameRecord)
}

// wantLinks checks which links a row has: to index entries, and to the rows of names.
func wantLinks(f *coretest.Fixture, canonical string, want ...string) {
	f.T.Helper()
	known := make(map[dibs.ID]string)
	for _, value := range []string{"Alice", "ALICE", "alice"} {
		known[dibs.NameID("slug", value)] = value
	}
	var got []string
	for _, l := range rowOf(f, canonical).Links {
		switch l.Kind {
		case dibs.LinkMovedFrom:
			got = append(got, "from "+known[l.ID])
		case dibs.LinkMovedTo:
			got = append(got, "to "+known[l.ID])
		default:
			got = append(got, "index")
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		f.T.Errorf("the row of %s has the links %q, want %q", canonical, got, want)
	}
}

// exactLooks and foldedLooks are rules that differ by the case of names; both refuse look-alikes.
func exactLooks() map[string]dibs.Policy { return coretest.NoLookAlikes(dibs.Policy{}) }

func foldedLooks() map[string]dibs.Policy {
	return coretest.NoLookAlikes(dibs.Policy{Profile: coretest.Lower{}})
}

// A row that a name was moved to leads to all rows that the name had before, and not to itself. It is
// in the index under the present rules only.
func TestMovedRowsLeadToEachOther(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, exactLooks())
	f.Must(coretest.Claim("slug", "Alice", coretest.User1))
	f.Clock.Advance(time.Second)
	g := f.Reopened(foldedLooks())
	g.MustRecanonicalize(false)
	wantLinks(f, "Alice", "to alice")
	wantLinks(f, "alice", "from Alice", "index")
	confusable(g, coretest.Claim("slug", "A1ice", coretest.User2))
	f.Clock.Advance(time.Second)
	f.MustRecanonicalize(false)
	wantLinks(f, "alice", "to Alice")
	wantLinks(f, "Alice", "from alice", "index")
	f.WantKinds("slug", "Alice", dibs.EventClaimed, dibs.EventMoved, dibs.EventMoved, dibs.EventMoved, dibs.EventMoved)
	h := f.Reopened(coretest.NoLookAlikes(dibs.Policy{Profile: coretest.Upper{}}))
	h.MustRecanonicalize(false)
	wantLinks(f, "ALICE", "from Alice", "from alice", "index")
	if skeletons := documents(f, dibs.KindSkeleton); len(skeletons) != 1 {
		t.Errorf("%d index entries, want one", len(skeletons))
	}
	if profile := rowOf(f, "ALICE").Profile; profile != "upper/1" {
		t.Errorf("the row follows %s", profile)
	}
	f.Refused(dibs.ErrUnavailable, coretest.Claim("slug", "new", coretest.User2))
}

// A name that is taken again keeps the way to its former rows, and leaves the index entries of former
// rules.
func TestLinksOfTheNextEpoch(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, exactLooks())
	f.Must(coretest.Claim("slug", "Alice", coretest.User1))
	g := f.Reopened(foldedLooks())
	g.MustRecanonicalize(false)
	g.Must(coretest.Decommission("slug", "alice", coretest.User1))
	h := f.Reopened(map[string]dibs.Policy{"slug": {Profile: coretest.Lower{}, Skeleton: vowels{}}})
	h.MustRecanonicalize(false) // leaves free names as they are
	h.Must(coretest.Claim("slug", "alice", coretest.User2))
	wantLinks(f, "alice", "from Alice", "index")
}

// Names that become one are in the index once, follow the present rules, and lead to all former rows.
func TestMergedRows(t *testing.T) {
	t.Parallel()
	for _, active := range []string{"ALICE", "Alice", "alice"} {
		t.Run(active, func(t *testing.T) {
			t.Parallel()
			f := coretest.NewFixture(t, exactLooks())
			for _, value := range []string{"ALICE", "Alice", "alice", active} {
				if value != active || rename(f, value) {
					f.Must(coretest.Rename("slug", value, coretest.User1))
				}
			}
			g := f.Reopened(foldedLooks())
			g.MustRecanonicalize(false)
			wantLinks(f, "alice", "from ALICE", "from Alice", "index")
			wantLinks(f, "ALICE", "to alice")
			wantLinks(f, "Alice", "to alice")
			if row := rowOf(f, "alice"); row.Profile != "lower/1" || row.State != dibs.Active {
				t.Errorf("%+v", row)
			}
			if skeletons := documents(f, dibs.KindSkeleton); len(skeletons) != 1 {
				t.Errorf("%d index entries, want one", len(skeletons))
			}
			g.WantActive(coretest.User1, "alice")
			confusable(g, coretest.Claim("slug", "a1ice", coretest.User2))
			revived := slices.ContainsFunc(g.HistoryOf("slug", "alice"), func(e dibs.Event) bool {
				return e.ID == dibs.NameID("slug", "alice") && e.Kind == dibs.EventRevived
			})
			if revived == (active == "alice") {
				t.Errorf("revived: %v", revived)
			}
		})
	}
}

// rename reports whether a slug is not the active one of User1 yet.
func rename(f *coretest.Fixture, value string) bool {
	n, err := f.Get(f.Ctx, dibs.Lookup{Namespace: "slug", Value: value})
	return err != nil || n.State != dibs.Active
}

// Names that stay where they are follow the present rules, too.
func TestStayingNamesAreMarked(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.ExactSlugs())
	f.Must(coretest.Claim("slug", "alice", coretest.User1))
	f.Reopened(coretest.FoldedSlugs()).MustRecanonicalize(false)
	if row := rowOf(f, "alice"); row.Profile != "lower/1" || row.Rev != 2 {
		t.Errorf("%+v", row)
	}
}

// A hold that moves counts once against the quota of its principal, and not any more when it ends.
func TestMovedHoldCountsOnce(t *testing.T) {
	t.Parallel()
	policies := func(profile dibs.Profile) map[string]dibs.Policy {
		return map[string]dibs.Policy{"slug": {Profile: profile, MaxHolds: 2}}
	}
	f := coretest.NewFixture(t, policies(dibs.Exact))
	hold := f.One(coretest.Reserve("slug", "Alice", coretest.Token1))
	g := f.Reopened(policies(coretest.Lower{}))
	g.MustRecanonicalize(false)
	g.Must(coretest.Reserve("slug", "b", coretest.Token1))
	g.Refused(dibs.ErrTooManyHolds, coretest.Reserve("slug", "c", coretest.Token1))
	g.Must(dibs.Release{ID: hold.ID, Token: coretest.Token1})
	g.Must(coretest.Reserve("slug", "c", coretest.Token1))
	g.Refused(dibs.ErrTooManyHolds, coretest.Reserve("slug", "d", coretest.Token1))
}

// The row that a name has left is not purged: the history of the name begins there.
func TestLeftRowsStay(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.ExactSlugs())
	hold := f.One(coretest.Reserve("slug", "Alice", coretest.Token1))
	g := f.Reopened(coretest.FoldedSlugs())
	g.MustRecanonicalize(false)
	g.Must(dibs.Confirm{ID: hold.ID, Token: coretest.Token1, Entity: coretest.User1})
	f.Clock.Advance(2 * time.Hour)
	g.SweepAll()
	g.WantKinds("slug", "alice", dibs.EventReserved, dibs.EventMoved, dibs.EventMoved, dibs.EventConfirmed)
}

// A row that is free, or absent, is not recanonicalized.
func TestFreeRowsAreNotMoved(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.ExactSlugs())
	f.Must(coretest.Claim("slug", "Alice", coretest.User1), coretest.Decommission("slug", "Alice", coretest.User1))
	set := mustPolicies(t, coretest.FoldedSlugs())
	for _, value := range []string{"Alice", "Bob"} {
		job := set.RecanonicalizeName(dibs.Ref{Kind: dibs.KindName, ID: dibs.NameID("slug", value)}, "")
		b, _ := decide(f, job.Request)
		if changed, refused := job.Result(); changed || refused != nil || job.Changes() || !b.Complete() {
			t.Errorf("%s: changed %v, %v", value, changed, refused)
		}
	}
}

// A plan tells what becomes of names that move to one new row: the first moves, and the others merge
// with what is there by then.
func TestPlanOfSeveralForOneRow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what  string
		setUp []dibs.Command
		want  map[dibs.FindingKind]int
	}{
		{"of two entities", []dibs.Command{
			coretest.Claim("slug", "ALICE", coretest.User1), coretest.Claim("slug", "Alice", coretest.User2),
		}, map[dibs.FindingKind]int{dibs.FindingChange: 1, dibs.FindingCollision: 1}},
		{"of one", []dibs.Command{
			coretest.Claim("slug", "ALICE", coretest.User1),
			coretest.Claim("slug", "Alice", coretest.User1),
			dibs.Rename{Namespace: "slug", From: "Alice", Value: "other", Entity: coretest.User1},
		}, map[dibs.FindingKind]int{dibs.FindingChange: 1, dibs.FindingMerge: 1}},
		{"of one, two of them active", []dibs.Command{
			coretest.Claim("slug", "ALICE", coretest.User1), coretest.Claim("slug", "aLICE", coretest.User1),
			coretest.Claim("slug", "Alice", coretest.User1),
			dibs.Rename{Namespace: "slug", From: "Alice", Value: "other", Entity: coretest.User1},
		}, map[dibs.FindingKind]int{dibs.FindingChange: 1, dibs.FindingMerge: 1, dibs.FindingCollision: 1}},
	} {
		f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {ManyPerEntity: true}})
		f.Must(c.setUp...)
		plan := f.Reopened(map[string]dibs.Policy{"slug": {ManyPerEntity: true, Profile: coretest.Lower{}}}).MustRecanonicalize(true)
		if fmt.Sprint(plan.Counts) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", c.what, plan.Counts, c.want)
		}
	}
}
