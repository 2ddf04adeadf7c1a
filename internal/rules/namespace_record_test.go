package rules_test

import (
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// The first name in a namespace writes the namespace record. From then on every command about a
// name reads the record and does not write it.
func TestNamespaceRecordIsWrittenOnce(t *testing.T) {
	t.Parallel()
	f, s := coretest.NewSpy(t, nil)
	groups := s.LastGroups()
	access := func() (revs []uint64, writes int) {
		for _, g := range *groups {
			for _, r := range g.Reads {
				if r.Ref.Kind == dibs.KindNamespace {
					revs = append(revs, r.Rev)
				}
			}
			for _, w := range g.Writes {
				if w.Record.Ref().Kind == dibs.KindNamespace {
					writes++
				}
			}
		}
		return revs, writes
	}
	for i, command := range []dibs.Command{
		coretest.Reserve("slug", "a", coretest.Token1), coretest.Reserve("slug", "b", coretest.Token1), coretest.Claim("slug", "c", coretest.User1), coretest.Rename("slug", "d", coretest.User1),
	} {
		f.Must(command)
		first := i == 0
		revs, writes := access()
		if len(revs) != 1 || (revs[0] == 0) != first || (writes == 1) != first {
			t.Errorf("%#v read the record at revisions %v and wrote it %d times", command, revs, writes)
		}
	}
	f.Must(coretest.Rename("slug", "c", coretest.User1)) // a name with a row may be another name under other rules
	if revs, writes := access(); len(revs) != 1 || writes != 0 {
		t.Errorf("a name with a row read the record at %v and wrote it %d times", revs, writes)
	}
	if found := documents(f, dibs.KindNamespace); len(found) != 1 || found[0].Label != "slug" || found[0].Rev != 1 {
		t.Errorf("the namespace records are %+v", found)
	}
}

func TestNamespaceRecordNeedsAName(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	if _, err := f.DryRun(f.Ctx, coretest.Claim("slug", "a", coretest.User1)); err != nil {
		t.Fatal(err)
	}
	f.Refused(dibs.ErrNameTaken, coretest.Claim("slug", "a", coretest.User1), coretest.Claim("slug", "a", coretest.User2))
	if found := documents(f, dibs.KindNamespace); len(found) != 0 {
		t.Errorf("a dry run or a refusal left %+v", found)
	}
}

// A commit that follows the purge of its name is decided again, above the purged epoch.
func TestNamespaceRecordIsRaisedMeanwhile(t *testing.T) {
	t.Parallel()
	f, s := coretest.NewSpy(t, nil)
	f.Must(coretest.Reserve("slug", "other", coretest.Token1))
	other := f.Reopened(map[string]dibs.Policy{"slug": {HoldHistory: time.Hour}})
	s.OnCommit = s.BeforeFirst(func() {
		other.Must(coretest.Reserve("slug", "x", coretest.Token2), dibs.Release{ID: dibs.NameID("slug", "x"), Token: coretest.Token2})
		f.Clock.Advance(time.Hour)
		other.SweepAll()
		other.WantState("slug", "x", dibs.Free)
	})
	if n := f.One(coretest.Claim("slug", "x", coretest.User1)); n.Epoch != 2 {
		t.Errorf("the epoch is %d, want 2", n.Epoch)
	}
}

// A namespace record that cannot be read stops names from being taken, and nothing else. Treated
// as empty, it would let epochs start over and other rules apply.
func TestNamespaceRecordIsDamaged(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {HoldHistory: time.Hour}})
	f.Must(coretest.Reserve("slug", "old", coretest.Token1), coretest.Claim("slug", "mine", coretest.User1))
	f.Must(dibs.Release{ID: dibs.NameID("slug", "old"), Token: coretest.Token1})
	damage(f, documents(f, dibs.KindNamespace)[0])
	for _, command := range []dibs.Command{
		coretest.Reserve("slug", "new", coretest.Token1),
		coretest.Claim("slug", "new", coretest.User2),
		coretest.Rename("slug", "new", coretest.User1),
		dibs.ReserveFirst{Namespace: "slug", Values: []string{"new"}},
		coretest.Reserve("slug", "old", coretest.Token2), // its row has the epoch, but not the rules
	} {
		f.Refused(dibs.ErrUnavailable, command)
	}
	f.Must(coretest.Reserve("other", "new", coretest.Token1))

	// Nothing is purged: the epoch in the record could not be raised.
	f.Clock.Advance(time.Hour)
	_, err := f.Sweep(f.Ctx, 10)
	f.WantError(err, dibs.ErrUnavailable)
	if !strings.Contains(err.Error(), `floor "slug"`) {
		t.Errorf("%q does not name the document", err)
	}
	f.NameOf("slug", "old")
}
