package rules_test

import (
	"slices"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/internal/rules"
)

// mustApply prepares commands of a principal with all rights.
func mustApply(t *testing.T, set *rules.Policies, commands ...dibs.Command) *rules.Request {
	t.Helper()
	request, refused := set.Apply(dibs.ApplyRequest{Principal: dibs.Principal{Rights: dibs.ActForOthers | dibs.Operate}, Commands: commands})
	if refused != nil {
		t.Fatal(refused)
	}
	return request
}

func mustPolicies(t *testing.T, configured map[string]dibs.Policy) *rules.Policies {
	t.Helper()
	set, err := rules.NewPolicies(configured, dibs.Policy{})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// A guessed state is complete if everything is remembered or expected to be absent. Its groups have
// the window of the guess. The batch after it is not guessed.
func TestGuess(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	f.Must(coretest.Reserve("slug", "old", coretest.Token1))
	record := documents(f, dibs.KindNamespace)[0]
	recall := func(key rules.Key) dibs.Record {
		if key == rules.KeyOf(record.Ref()) {
			return record
		}
		return nil
	}
	set := mustPolicies(t, nil)
	reserve := []*rules.Request{mustApply(t, set, coretest.Reserve("slug", "x", coretest.Token1))}
	var b rules.Batch
	window := dibs.Window{From: 5, Before: 9000}
	b.Guess(reserve, 7, window, recall)
	b.Decide(reserve)
	if !b.Guessed() || !b.Complete() || b.Now() != 7 || reserve[0].DecidedAt() != 7 {
		t.Errorf("guessed %v, complete %v, at %d", b.Guessed(), b.Complete(), b.Now())
	}
	groups, _, _ := b.Groups(reserve)
	if len(groups) != 1 || groups[0].Window != window || len(groups[0].Writes) != 1 { // the namespace record exists
		t.Errorf("%+v", groups)
	}
	release := []*rules.Request{mustApply(t, set, dibs.Release{ID: dibs.NameID("slug", "x"), Token: coretest.Token1})}
	b.Guess(release, 7, window, recall)
	b.Decide(release)
	if b.Complete() {
		t.Error("a name that is not remembered counts as known")
	}
	b.Begin(reserve)
	refs, _ := b.Wanted()
	if b.Guessed() || b.Complete() || len(refs) != 2 {
		t.Errorf("guessed %v, complete %v, wants %v", b.Guessed(), b.Complete(), refs)
	}
	b.Load(dibs.LoadResult{Now: 8, Records: []dibs.Record{record}}, nil)
	b.Decide(reserve)
	if groups, _, _ := b.Groups(reserve); len(groups) != 1 || groups[0].Window.From != 0 || b.Now() != 8 {
		t.Errorf("%+v", groups)
	}
}

// What a batch found out about a record at one time does not hold at a later one.
func TestBatchForgetsWhatItSaw(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	f.Must(coretest.Reserve("slug", "x", coretest.Token1))
	row := f.Records(dibs.KindName)[0].(*dibs.NameRecord)
	record := documents(f, dibs.KindNamespace)[0]
	requests := []*rules.Request{mustApply(t, mustPolicies(t, nil), coretest.Reserve("slug", "x", coretest.Token2))}
	var b rules.Batch
	b.Begin(requests)
	for _, now := range []dibs.Instant{row.ExpiresAt - 1, row.ExpiresAt} {
		b.Load(dibs.LoadResult{Now: now, Records: []dibs.Record{row, record}}, nil)
		b.Decide(requests)
		if _, refused := requests[0].Result(); (refused == nil) != (now == row.ExpiresAt) {
			t.Errorf("at %s, with the hold until %s: %v", now, row.ExpiresAt, refused)
		}
	}
}

// A batch tells which records it has, and which it has touched, to a reader that may stop.
func TestBatchContents(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	f.Must(coretest.Claim("slug", "x", coretest.User1), coretest.Claim("slug", "y", coretest.User2))
	b, _ := decide(f, mustApply(t, mustPolicies(t, nil), coretest.Claim("slug", "z", coretest.User3), coretest.Decommission("slug", "x", coretest.User1)))
	for _, c := range []struct{ stop, records, touched int }{{1, 1, 1}, {9, 3, 5}} {
		records, touched, changed := 0, 0, 0
		for range b.Records() {
			if records++; records == c.stop {
				break
			}
		}
		for _, change := range b.Touched() {
			if change {
				changed++
			}
			if touched++; touched == c.stop {
				break
			}
		}
		if records != c.records || touched != c.touched || (c.stop == 9) != (changed == 4) {
			t.Errorf("up to %d: %d records, %d touched, %d changed", c.stop, records, touched, changed)
		}
	}
}

// The names of an entity are listed once for a batch.
func TestBatchListsOnce(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	claim, remove := coretest.Claim("slug", "x", coretest.User1), dibs.Delete{Entity: coretest.User1}
	b, _ := decide(f, mustApply(t, mustPolicies(t, nil), claim, remove, claim, remove))
	if _, owners := b.Wanted(); len(owners) != 1 {
		t.Errorf("%d lists, want one", len(owners))
	}
}

// A Delete sees the names that earlier requests of its batch gave the entity. What it gives up is in
// the same order, whichever of them was first.
func TestDeleteSeesItsBatch(t *testing.T) {
	t.Parallel()
	namespaces := []string{"a", "b", "c", "d", "e"}
	var first []string
	for range 2 {
		f := coretest.NewFixture(t, nil)
		set := mustPolicies(t, nil)
		var requests []*rules.Request
		for _, namespace := range namespaces {
			requests = append(requests, mustApply(t, set, coretest.Claim(namespace, "x", coretest.User1)))
		}
		requests = append(requests, mustApply(t, set, dibs.Delete{Entity: coretest.User1}))
		commit(f, requests...)
		results, refused := requests[len(namespaces)].Result()
		if refused != nil || len(results[0].Freed) != len(namespaces) {
			t.Fatalf("%+v, %v", results, refused)
		}
		if first == nil {
			first = results[0].Freed
		} else if !slices.Equal(results[0].Freed, first) {
			t.Errorf("it freed %v, and %v in a batch in another order", first, results[0].Freed)
		}
		slices.Reverse(namespaces)
	}
}

// Requests that only read the same record, such as that of their namespace, are committed apart.
func TestReadersAreNotGrouped(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	f.Must(coretest.Claim("slug", "x", coretest.User1)) // makes the namespace record
	set := mustPolicies(t, nil)
	requests := []*rules.Request{
		mustApply(t, set, coretest.Claim("slug", "y", coretest.User2)), mustApply(t, set, coretest.Claim("slug", "z", coretest.User3)),
	}
	b, _ := decide(f, requests...)
	groups, members, alone := b.Groups(requests)
	if len(groups) != 2 || len(members) != 2 || len(alone) != 0 {
		t.Errorf("%d groups of %v; alone are %v", len(groups), members, alone)
	}
}
