package rules_test

import (
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/internal/rules"
)

// ask decides a question on what the engine has now.
func ask[T any](f *coretest.Fixture, job *rules.Job[T]) T {
	f.T.Helper()
	var b rules.Batch
	requests := []*rules.Request{job.Request}
	b.Begin(requests)
	refs, _ := b.Wanted()
	loaded, err := f.Engine.Load(f.Ctx, refs)
	if err != nil {
		f.T.Fatal(err)
	}
	b.Load(loaded, nil)
	b.Decide(requests)
	answer, refused := job.Result()
	if refused != nil || !b.Complete() {
		f.T.Fatalf("%v", refused)
	}
	return answer
}

func TestNamespacesOf(t *testing.T) {
	t.Parallel()
	f := readFixture(t)
	set, err := rules.NewPolicies(nil, dibs.Policy{})
	if err != nil {
		t.Fatal(err)
	}
	active, absent := dibs.NameID("slug", "active"), dibs.NameID("slug", "absent")
	if got := ask(f, set.NamespacesOf([]dibs.ID{active, absent})); len(got) != 1 || got[active] != "slug" {
		t.Errorf("%v", got)
	}
}

// Ends that no commit has written are told newest first, until the reader has enough.
func TestEndedAlone(t *testing.T) {
	t.Parallel()
	f := readFixture(t)
	set, err := rules.NewPolicies(nil, dibs.Policy{})
	if err != nil {
		t.Fatal(err)
	}
	f.Clock.Advance(4 * time.Hour) // the alias was given up, and its quarantine is over
	for _, all := range []bool{true, false} {
		job, refused := set.FindName("slug", "alias")
		if refused != nil {
			t.Fatal(refused)
		}
		var states []dibs.State
		ask(f, job).EndedAlone(func(_ dibs.Instant, now dibs.Snapshot) bool {
			states = append(states, now.State)
			return all
		})
		if len(states) == 0 || states[0] != dibs.Free || len(states) != map[bool]int{true: 2, false: 1}[all] {
			t.Errorf("all %v: it ended as %v", all, states)
		}
	}
}

// readFixture has a name in each state: alias, active, quarantined, held out of its quarantine, and free.
func readFixture(t *testing.T) *coretest.Fixture {
	t.Helper()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {AliasRetention: time.Hour, Quarantine: 2 * time.Hour}})
	f.Must(coretest.Claim("slug", "alias", coretest.User1), dibs.Rename{Namespace: "slug", Value: "active", Entity: coretest.User1})
	for _, value := range []string{"quarantined", "held"} {
		f.Must(coretest.Claim("slug", value, coretest.User2), coretest.Decommission("slug", value, coretest.User2))
	}
	f.Must(dibs.Reserve{Namespace: "slug", Value: "held", Token: coretest.Token1, Entity: coretest.User2})
	return f
}

// Only what ends by itself, and leads anywhere or nowhere until then, has a date.
func TestResolveUntil(t *testing.T) {
	t.Parallel()
	f := readFixture(t)
	now := f.Clock.Now()
	for value, want := range map[string]time.Time{
		"alias": now.Add(time.Hour), "quarantined": now.Add(2 * time.Hour), "active": {}, "held": {}, "free": {},
	} {
		if r, err := f.Resolve(f.Ctx, "slug", value); err != nil || !r.Until.Equal(want) {
			t.Errorf("%s resolves until %v, %v, want %v", value, r.Until, err, want)
		}
	}
}

// Only an owned name has the version of its entity, and only if it is asked for.
func TestGetVersion(t *testing.T) {
	t.Parallel()
	f := readFixture(t)
	f.Must(dibs.Archive{Entity: coretest.User1})
	entity, err := f.Entity(f.Ctx, "", coretest.User1)
	if err != nil || entity.Version == 0 {
		t.Fatalf("%+v, %v", entity, err)
	}
	for value, want := range map[string]uint64{"alias": entity.Version, "active": entity.Version, "quarantined": 0, "held": 0} {
		for _, asked := range []bool{true, false} {
			n, err := f.Get(f.Ctx, dibs.Lookup{Namespace: "slug", Value: value, Version: asked})
			if !asked {
				want = 0
			}
			if err != nil || n.Version != want || n.Archived != (want != 0) {
				t.Errorf("%s, asked %v: version %d, archived %v, %v; want version %d", value, asked, n.Version, n.Archived, err, want)
			}
		}
	}
}

func TestReadNames(t *testing.T) {
	t.Parallel()
	f := readFixture(t)
	ref := func(value string) dibs.Ref { return dibs.Ref{Kind: dibs.KindName, ID: dibs.NameID("slug", value)} }
	names := ask(f, mustPolicies(t, nil).ReadNames([]dibs.Ref{ref("absent"), ref("active")}))
	if len(names) != 2 || names[0] != nil || names[1] == nil || names[1].Canonical != "active" {
		t.Errorf("%+v", names)
	}
}

// An error says what is not there, or not well-formed.
func TestErrorsNameWhatIsWrong(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	_, err := f.Get(f.Ctx, dibs.Lookup{Namespace: "slug", Value: "x"})
	if f.WantError(err, dibs.ErrNotFound); !strings.Contains(err.Error(), "slug:x") {
		t.Error(err)
	}
	id := dibs.NameID("slug", "x")
	_, err = f.Get(f.Ctx, dibs.Lookup{ID: id})
	if f.WantError(err, dibs.ErrNotFound); !strings.Contains(err.Error(), id.String()) {
		t.Error(err)
	}
	if e := f.Refused(dibs.ErrInvalidNamespace, dibs.Archive{Scope: "Acme", Entity: coretest.User1}); !strings.HasPrefix(e.Message, `scope "Acme" is not well-formed`) {
		t.Error(e.Message)
	}
}

// A resolution says that the entity is archived, whichever status that has.
func TestResolveTellsArchived(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"gone": {ArchivedStatus: 410}})
	f.Must(coretest.Claim("slug", "x", coretest.User1), coretest.Claim("gone", "x", coretest.User1), dibs.Archive{Entity: coretest.User1})
	for namespace, status := range map[string]int{"slug": 404, "gone": 410} {
		if r, err := f.Resolve(f.Ctx, namespace, "x"); err != nil || !r.Archived || r.Status != status {
			t.Errorf("%s: %+v, %v", namespace, r, err)
		}
	}
}
