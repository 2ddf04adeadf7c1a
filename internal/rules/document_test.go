package rules_test

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/internal/rules"
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

func TestMaxHolds(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {MaxHolds: 2}})
	ann, bob := f.ActAs("ann", 0), f.ActAs("bob", 0)
	id := func(value string) dibs.ID { return dibs.NameID("slug", value) }
	full := func(f *coretest.Fixture) (message string) {
		t.Helper()
		return f.Refused(dibs.ErrTooManyHolds, coretest.Reserve("slug", "more", coretest.Token1)).Message
	}
	ann.Must(coretest.Reserve("slug", "a", coretest.Token1))
	f.Clock.Advance(time.Minute)
	ann.Must(coretest.Reserve("slug", "b", coretest.Token1))
	// The refusal says how long to wait: until the first one ends.
	if message, want := full(ann), f.Clock.Now().Add(aHold-time.Minute).Format("15:04:05"); !strings.Contains(message, want) {
		t.Errorf("%q does not say %s", message, want)
	}
	ann.Replayed(coretest.Reserve("slug", "a", coretest.Token1)) // no new hold
	ann.Must(coretest.Reserve("other", "a", coretest.Token1))    // another namespace
	ann.Refused(dibs.ErrNameTaken, coretest.Reserve("slug", "a", coretest.Token2))

	// Each principal has a quota of its own. The principal without a name is one, too.
	bob.Must(coretest.Reserve("slug", "c", coretest.Token1))
	f.Must(coretest.Reserve("slug", "d", coretest.Token1))
	full(ann)

	// Releasing and confirming make room.
	ann.Must(dibs.Release{ID: id("a"), Token: coretest.Token1})
	ann.Must(coretest.Reserve("slug", "e", coretest.Token1))
	full(ann)
	ann.Must(dibs.Confirm{ID: id("b"), Token: coretest.Token1, Entity: coretest.User1})
	ann.Must(coretest.Reserve("slug", "f", coretest.Token1))
	full(ann)
	// So do a Rename to a held name and a principal that acts for the holder.
	ann.Must(dibs.Rename{Namespace: "slug", Value: "e", Entity: coretest.User1, Token: coretest.Token1})
	ann.Must(coretest.Reserve("slug", "g", coretest.Token1))
	full(ann)
	f.ActAs("clerk", dibs.ActForOthers).Must(dibs.Release{ID: id("g"), Token: coretest.Token1})
	ann.Must(coretest.Reserve("slug", "g", coretest.Token1+"2"))
	full(ann)

	// An extended hold counts until its new end, an expired one does not count.
	ann.Must(dibs.Extend{ID: id("g"), Token: coretest.Token1 + "2", TTL: dibs.For(longHold)})
	full(ann)
	f.Clock.Advance(aHold - time.Millisecond)
	full(ann)
	f.Clock.Advance(time.Millisecond)
	ann.Must(coretest.Reserve("slug", "h", coretest.Token1))
	full(ann)
	f.Clock.Advance(aHold) // g is over, by its extended end
	ann.Must(coretest.Reserve("slug", "i", coretest.Token1), coretest.Reserve("slug", "j", coretest.Token1))
	full(ann)

	// The commands of one list see each other's holds.
	list, _ := numbered(3)
	bob.Refused(dibs.ErrTooManyHolds, dibs.ReserveAll{Reservations: list})
	bob.Must(dibs.ReserveAll{Reservations: list[:2]})
	// A full quota ends ReserveFirst at the first free candidate.
	bob.Refused(dibs.ErrTooManyHolds, dibs.ReserveFirst{Namespace: "slug", Values: []string{"x", "y"}})
}

// A name that a principal reserves again after its hold expired counts once.
func TestMaxHoldsSameName(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {MaxHolds: 1}})
	for range 3 {
		f.Must(coretest.Reserve("slug", "x", dibs.NewToken()))
		f.Clock.Advance(aHold)
	}
}

// A suspect counts as a hold, until it is settled as absent.
func TestMaxHoldsSuspect(t *testing.T) {
	t.Parallel()
	policy := matrixPolicies()[watched]
	policy.MaxHolds = 1
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": policy})
	f.Must(coretest.Reserve("slug", "x", coretest.Token1))
	f.Clock.Advance(aHold)
	f.Refused(dibs.ErrTooManyHolds, coretest.Reserve("slug", "y", coretest.Token1))
	f.Must(dibs.Extend{ID: dibs.NameID("slug", "x"), Token: coretest.Token1})
	f.Refused(dibs.ErrTooManyHolds, coretest.Reserve("slug", "y", coretest.Token1))
	f.Clock.Advance(aHold)
	f.Must(dibs.Settle{ID: dibs.NameID("slug", "x"), Verdict: dibs.Absent})
	f.Must(coretest.Reserve("slug", "y", coretest.Token1))
}

// With the token, a principal that may act for others counts as the holder.
// A hold counts until it ends. A row that says that it counts, and does not, would make a quota of
// nothing when it is forgotten.
func TestOnlyHoldsAreCounted(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {MaxHolds: 9}})
	for _, value := range []string{"held", "released", "confirmed", "renamed"} {
		f.Must(coretest.Reserve("slug", value, coretest.Token1))
	}
	f.Must(dibs.Release{ID: dibs.NameID("slug", "released"), Token: coretest.Token1})
	f.Must(dibs.Confirm{ID: dibs.NameID("slug", "confirmed"), Token: coretest.Token1, Entity: coretest.User1})
	f.Must(dibs.Rename{Namespace: "slug", Value: "renamed", Entity: coretest.User1, Token: coretest.Token1})
	for _, r := range f.Records(dibs.KindName) {
		if n := r.(*dibs.NameRecord); n.Terms.Counted != (n.State == dibs.Held) {
			t.Errorf("%s, %s: counted is %v", n.Canonical, n.State, n.Terms.Counted)
		}
	}
}

func TestActForOthers(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	ann, clerk := f.ActAs("ann", 0), f.ActAs("clerk", dibs.ActForOthers)
	id := dibs.NameID("slug", "x")
	ann.Must(coretest.Reserve("slug", "x", coretest.Token1))
	clerk.Replayed(coretest.Reserve("slug", "x", coretest.Token1))
	clerk.Refused(dibs.ErrNameTaken, coretest.Reserve("slug", "x", coretest.Token2))
	clerk.Refused(dibs.ErrLost, dibs.Release{ID: id, Token: coretest.Token2})
	clerk.Must(dibs.Extend{ID: id, Token: coretest.Token1, TTL: dibs.For(longHold)})
	clerk.Must(dibs.Rename{Namespace: "slug", Value: "x", Entity: coretest.User1, Token: coretest.Token1})
	clerk.Replayed(dibs.Confirm{ID: id, Token: coretest.Token1, Entity: coretest.User1})
	if n := f.NameOf("slug", "x"); n.Principal != "ann" {
		t.Errorf("the principal of the hold is %s, want ann", n.Principal)
	}
}

func TestNoQuotaWithoutMaxHolds(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	f.Must(coretest.Reserve("slug", "x", coretest.Token1))
	quotas, err := f.Engine.List(f.Ctx, dibs.ListQuery{Kind: dibs.KindQuota, Limit: 10})
	if err != nil || len(quotas) != 0 {
		t.Errorf("%d quotas are stored, %v", len(quotas), err)
	}
}

// Labels have no control characters, in particular no NUL, so that every engine can store them.
func TestLabelsArePlainText(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {MaxHolds: 3}})
	f.ActAs("ann/of:acme", 0).Must(coretest.Reserve("slug", "x", coretest.Token1))
	f.Refused(dibs.ErrNameTaken, coretest.Reserve("slug", "x", coretest.Token2))
	if _, err := f.Conflicts(f.Ctx, dibs.ConflictsQuery{}); err != nil { // stores them
		t.Fatal(err)
	}
	for _, kind := range []dibs.Kind{dibs.KindQuota, dibs.KindTally} {
		records, err := f.Engine.List(f.Ctx, dibs.ListQuery{Kind: kind, Limit: 10})
		if err != nil || len(records) != 1 {
			t.Fatalf("%s: %v, %v", kind, records, err)
		}
		if label := records[0].(*dibs.Document).Label; strings.ContainsFunc(label, unicode.IsControl) {
			t.Errorf("%s: %q", kind, label)
		}
	}
}

// A decision that does not count a hold because it is over rests on that end.
func TestQuotaRestsOnEnds(t *testing.T) {
	t.Parallel()
	policies := map[string]dibs.Policy{"slug": {MaxHolds: 2}}
	f := coretest.NewFixture(t, policies)
	f.Must(coretest.Reserve("slug", "a", coretest.Token1))
	f.Clock.Advance(time.Minute)
	ends := dibs.InstantOf(f.One(coretest.Reserve("slug", "b", coretest.Token1)).ExpiresAt)
	f.Clock.Advance(aHold)
	request := mustApply(t, mustPolicies(t, policies), coretest.Reserve("slug", "c", coretest.Token1))
	b, _ := decide(f, request)
	groups, _, _ := b.Groups([]*rules.Request{request})
	if past := request.PastEnds(); len(past) != 1 || past[0].At != ends || past[0].Ref.Kind != dibs.KindQuota || groups[0].Window.From != ends {
		t.Errorf("it rests on %+v, in the window %+v; the last hold ended at %s", past, groups[0].Window, ends)
	}
}

// A quota has the name of its principal. It goes with the last name that the principal held, also if
// that hold is over by time alone.
func TestForgetDropsTheQuota(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.Forgetful())
	ann := f.ActAs("ann", 0)
	ann.Must(coretest.Reserve("slug", "a", coretest.Token1))
	f.Clock.Advance(time.Minute)
	ann.Must(coretest.Reserve("slug", "b", coretest.Token1))
	f.Clock.Advance(aHold - time.Minute) // a is over
	f.MustForget(dibs.ForgetRequest{Namespace: "slug", Value: "a"})
	if quotas := documents(f, dibs.KindQuota); len(quotas) != 1 {
		t.Errorf("ann holds a name, and has the quotas %v", quotas)
	}
	f.Clock.Advance(time.Minute)
	f.MustForget(dibs.ForgetRequest{Namespace: "slug", Value: "b"})
	if quotas := documents(f, dibs.KindQuota); len(quotas) != 0 {
		t.Errorf("still stored: %s", quotas[0].Label)
	}
}

// A run of Recanonicalize that another one has taken over is told so, for its namespace.
func TestRunIsTakenOver(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	set := mustPolicies(t, nil)
	begin, _ := set.BeginRules("acme.slug", "exact/1", "second")
	commit(f, begin.Request)
	end, _ := set.EndRules("acme.slug", "exact/1", "first")
	decide(f, end.Request)
	if _, refused := end.Result(); refused == nil || refused.Code != dibs.CodeUnavailable || refused.Namespace != "acme.slug" {
		t.Errorf("%+v", refused)
	}
}
