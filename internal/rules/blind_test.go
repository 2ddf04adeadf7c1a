package rules_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/core"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/internal/rules"
	"github.com/calldibs/dibs/memstore"
)

const secretValue = "Alice.Liddell@example.com"

var (
	keyA = dibs.BlindKey{ID: "a", Secret: bytes.Repeat([]byte("a"), 32)}
	keyB = dibs.BlindKey{ID: "b", Secret: bytes.Repeat([]byte("b"), 32)}
	keyC = dibs.BlindKey{ID: "c", Secret: bytes.Repeat([]byte("c"), 32)}
)

func blind(keys ...dibs.BlindKey) map[string]dibs.Policy {
	return map[string]dibs.Policy{"email": {
		Profile: coretest.Lower{}, Blind: keys, Skeleton: coretest.Digits{}, HoldHistory: time.Hour, Quarantine: time.Minute,
		ReservedWords: dibs.WordList("root@example.com"), ManyPerEntity: true,
	}}
}

// saysNothing checks that a value contains no part of secretValue, in upper or lower case.
func saysNothing(t *testing.T, what any) {
	t.Helper()
	text := strings.ToLower(fmt.Sprintf("%+v %#v", what, what))
	for _, part := range []string{"alice", "liddell", "example.com"} {
		if strings.Contains(text, part) {
			t.Errorf("the secret value is in %s", text)
		}
	}
}

// No command and no read of a blind name stores or returns its value.
func TestBlindLife(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, blind(keyA))
	hold, err := f.Reserve(f.Ctx, dibs.Reserve{Namespace: "email", Value: secretValue, Token: coretest.Token1})
	if err != nil {
		t.Fatal(err)
	}
	saysNothing(t, hold)
	if !strings.HasPrefix(hold.Canonical, "a.") || hold.ID != dibs.NameID("email", hold.Canonical) {
		t.Errorf("canonical %q, id %s", hold.Canonical, hold.ID)
	}
	for _, taken := range []string{secretValue, strings.ToUpper(secretValue)} {
		e := f.Refused(dibs.ErrNameTaken, coretest.Claim("email", taken, coretest.User2))
		saysNothing(t, *e)
		if len(e.Suggestions) > 0 {
			t.Error("a blind value has suggestions")
		}
	}
	e := f.Refused(dibs.ErrNameTaken, coretest.Claim("email", strings.ReplaceAll(secretValue, "l", "1"), coretest.User2))
	saysNothing(t, *e)
	if e.Reason != dibs.ReasonConfusable {
		t.Errorf("the reason of a look-alike is %s, want confusable", e.Reason)
	}
	f.Must(dibs.Confirm{ID: hold.ID, Token: coretest.Token1, Entity: coretest.User1})
	f.Replayed(coretest.Claim("email", secretValue, coretest.User1))
	f.Must(dibs.Transfer{Namespace: "email", Value: secretValue, From: coretest.User1, To: coretest.User2})
	f.Must(dibs.Rename{Namespace: "email", Value: "new-" + secretValue, Entity: coretest.User2, From: secretValue})
	r, err := f.Resolve(f.Ctx, "email", secretValue)
	if err != nil || r.Outcome != dibs.ResolveMoved {
		t.Errorf("%+v, %v", r, err)
	}
	saysNothing(t, r)
	f.Must(dibs.Decommission{Namespace: "email", Value: secretValue, Entity: coretest.User2})
	history, err := f.History(f.Ctx, "email", secretValue)
	if err != nil || len(history) != 5 {
		t.Errorf("%d events, %v", len(history), err)
	}
	holder, err := f.WhoHeld(f.Ctx, "email", secretValue, f.Clock.Now())
	if err != nil || holder.State != dibs.Quarantined {
		t.Errorf("%+v, %v", holder, err)
	}
	if n, err := f.Get(f.Ctx, dibs.Lookup{Namespace: "email", Value: secretValue}); err != nil || n.ID != hold.ID {
		t.Errorf("%+v, %v", n, err)
	}
	saysNothing(t, f.Dump())
	for _, r := range f.Dump().Records {
		saysNothing(t, r)
		if doc, ok := r.(*dibs.Document); ok {
			saysNothing(t, string(doc.Data))
		}
	}
}

// No error contains a blind value.
func TestBlindErrors(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, blind(keyA))
	bad := secretValue + "!"
	e := f.Refused(dibs.ErrInvalidValue, coretest.Claim("email", bad, coretest.User1))
	saysNothing(t, *e)
	if e.Refusal == nil || e.Refusal.Rule != "exclamation" {
		t.Errorf("the refusal %+v does not name its rule", e.Refusal)
	}
	saysNothing(t, *e.Refusal)
	saysNothing(t, *f.Refused(dibs.ErrInvalidValue, coretest.Claim("email", secretValue+"\x00", coretest.User1)))
	word := f.Refused(dibs.ErrReservedWord, coretest.Claim("email", "root@example.com", coretest.User1))
	saysNothing(t, *word)
	for _, a := range []dibs.Availability{checkOne(f, "email", bad), checkOne(f, "email", "root@example.com")} {
		a.Value = "" // what the caller sent
		saysNothing(t, a)
	}
	for _, err := range []error{
		f.Refused(dibs.ErrNotFound, dibs.Decommission{Namespace: "email", Value: secretValue, Entity: coretest.User1}),
		f.Refused(dibs.ErrNotFound, dibs.Rekey{Namespace: "email", Value: secretValue}),
	} {
		saysNothing(t, err)
	}
}

// A printed or logged key shows its ID, never its secret.
func TestBlindKeyHidesItsSecret(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "key", keyA, "policy", blind(keyA)["email"])
	for _, text := range []string{fmt.Sprint(keyA), fmt.Sprintf("%+v %#v %v", keyA, keyA, []dibs.BlindKey{keyA}), log.String()} {
		if strings.Contains(text, "aaaa") || strings.Contains(text, "YWFh") || strings.Contains(text, "97 97") {
			t.Errorf("the secret is in %s", text)
		}
	}
}

// Two processes that share a key never give out the same name twice, in whatever order each of them
// lists its keys.
func TestBlindRotation(t *testing.T) {
	t.Parallel()
	orders := map[string][]dibs.BlindKey{
		"old": {keyA}, "both": {keyB, keyA}, "both, old first": {keyA, keyB}, "new": {keyB}, "next": {keyC, keyB},
	}
	share := func(x, y []dibs.BlindKey) bool {
		for _, a := range x {
			for _, b := range y {
				if a.ID == b.ID {
					return true
				}
			}
		}
		return false
	}
	for first, firstKeys := range orders {
		for second, secondKeys := range orders {
			if !share(firstKeys, secondKeys) {
				continue
			}
			t.Run(first+", then "+second, func(t *testing.T) {
				t.Parallel()
				f := coretest.NewFixture(t, blind(firstKeys...))
				n := f.One(coretest.Claim("email", secretValue, coretest.User1))
				g := f.Reopened(blind(secondKeys...))
				g.Refused(dibs.ErrNameTaken, coretest.Claim("email", secretValue, coretest.User2))
				g.Refused(dibs.ErrNameTaken, coretest.Claim("email", strings.ReplaceAll(secretValue, "l", "1"), coretest.User2))
				g.Replayed(coretest.Claim("email", secretValue, coretest.User1))
				if r, err := g.Resolve(g.Ctx, "email", secretValue); err != nil || r.Entity != coretest.User1 {
					t.Errorf("%+v, %v", r, err)
				}
				// Taken again, the name keeps its row, and its epoch continues.
				g.Must(dibs.Decommission{Namespace: "email", Value: secretValue, Entity: coretest.User1})
				g.Clock.Advance(time.Minute)
				again := g.One(coretest.Claim("email", secretValue, coretest.User2))
				if again.ID != n.ID || again.Epoch != n.Epoch+1 {
					t.Errorf("first %s at epoch %d, then %s at epoch %d", n.ID, n.Epoch, again.ID, again.Epoch)
				}
			})
		}
	}
}

// A name that is taken again links to index entries that list it, and to no other: while it was free,
// a look-alike took its place in the entries of a key that is gone by now.
func TestBlindLinksAreTrue(t *testing.T) {
	t.Parallel()
	lookAlike := strings.ReplaceAll(secretValue, "l", "1")
	give := func(f *coretest.Fixture, value string) {
		f.Must(coretest.Claim("email", value, coretest.User1), dibs.Decommission{Namespace: "email", Value: value, Entity: coretest.User1})
		f.Clock.Advance(time.Minute)
	}
	f := coretest.NewFixture(t, blind(keyA, keyB))
	give(f, secretValue)
	give(f, lookAlike)
	g := f.Reopened(blind(keyC, keyB))
	n := g.One(coretest.Claim("email", secretValue, coretest.User2))
	listed := make(map[dibs.ID]bool) // the entries that list the name
	for _, kind := range []dibs.Kind{dibs.KindSkeleton, dibs.KindHash} {
		for _, r := range g.Records(kind) {
			names, err := rules.IndexedNames(r.(*dibs.Document))
			if err != nil {
				t.Fatal(err)
			}
			listed[r.Ref().ID] = slices.Contains(names, n.ID)
		}
	}
	for _, r := range g.Records(dibs.KindName) {
		name := r.(*dibs.NameRecord)
		if name.ID != n.ID {
			continue
		}
		if len(name.Links) != 5 { // three hashes, and the skeletons of two keys
			t.Errorf("%d links", len(name.Links))
		}
		for _, l := range name.Links {
			if !listed[l.ID] {
				t.Errorf("the entry of the link %c %s does not list the name", l.Kind, l.ID)
			}
		}
	}
	// It still keeps out look-alikes in a process that has the old keys.
	f.Refused(dibs.ErrNameTaken, coretest.Claim("email", lookAlike, coretest.User1))
}

// After a Rekey the new key alone finds a name from before the rotation.
func TestRekey(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, blind(keyA))
	f.Must(coretest.Claim("email", secretValue, coretest.User1), coretest.Claim("email", "other@example.com", coretest.User2))
	both := f.Reopened(blind(keyB, keyA))
	wantUnfiled := func(want int) {
		t.Helper()
		report, err := both.Recanonicalize(f.Ctx, dibs.RecanonicalizeRequest{Namespace: "email"})
		if err != nil || report.Counts[dibs.FindingUnfiled] != want {
			t.Fatalf("%+v, %v; want %d unfiled", report, err, want)
		}
		saysNothing(t, report)
	}
	wantUnfiled(2)
	both.Must(dibs.Rekey{Namespace: "email", Value: secretValue})
	both.Replayed(dibs.Rekey{Namespace: "email", Value: strings.ToUpper(secretValue)})
	wantUnfiled(1)
	both.Must(dibs.Rekey{Namespace: "email", Value: "other@example.com"})
	wantUnfiled(0)

	only := f.Reopened(blind(keyB))
	only.Refused(dibs.ErrNameTaken, coretest.Claim("email", secretValue, coretest.User2))
	only.Refused(dibs.ErrNameTaken, coretest.Claim("email", strings.ReplaceAll(secretValue, "l", "1"), coretest.User2))
	only.Replayed(coretest.Claim("email", secretValue, coretest.User1))
	f.Refused(dibs.ErrInvalidNamespace, dibs.Rekey{Namespace: "slug", Value: "x"})
	f.Refused(dibs.ErrInvalidValue, dibs.Rekey{Namespace: "email", Value: "what!"})
}

// A name that was never confirmed leaves no hash behind.
func TestBlindPurge(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, blind(keyB, keyA))
	f.Must(coretest.Reserve("email", secretValue, coretest.Token1))
	if n := len(f.Dump().Records); n != 6 { // the name, its namespace record, two hashes, two skeletons
		t.Fatalf("%d records", n)
	}
	f.Clock.Advance(dibs.DefaultTTL + time.Hour)
	f.SweepAll()
	f.SweepAll()
	if records := f.Dump().Records; len(records) != 1 || records[0].Ref().Kind != dibs.KindNamespace {
		t.Errorf("left: %v", records)
	}
	if n := f.One(coretest.Reserve("email", secretValue, coretest.Token1)); n.Epoch != 2 {
		t.Errorf("the epoch is %d, want 2", n.Epoch)
	}
}

// A repeated Rename is a replay, whichever key hides the name.
func TestRenameIsReplayedAfterRotation(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, blind(keyA))
	again := dibs.Rename{Namespace: "email", Value: secretValue, Entity: coretest.User1, IfVersion: 1}
	f.Must(coretest.Claim("email", "old@example.com", coretest.User1))
	again.From = "old@example.com"
	f.Must(again)
	f.Reopened(blind(keyB, keyA)).Replayed(again)
}

// A policy may have up to four keys, whose IDs are lower-case letters and digits.
func TestBlindKeys(t *testing.T) {
	t.Parallel()
	var keys []dibs.BlindKey
	for _, id := range []string{"a", "b", "c", "d"} {
		keys = append(keys, dibs.BlindKey{ID: id, Secret: keyA.Secret})
	}
	coretest.NewFixture(t, blind(keys...)).Must(coretest.Claim("email", secretValue, coretest.User1))
	_, err := core.Open(memstore.New(memstore.Config{}), dibs.Config{Policies: blind(append(keys, dibs.BlindKey{ID: "e", Secret: keyA.Secret})...)})
	if err == nil {
		t.Error("a policy with five keys is accepted")
	}
	for id, valid := range map[string]bool{
		"": false, "0": true, "9": true, "a": true, "z": true, "A": false, "/": false, ":": false, "`": false, "{": false,
		strings.Repeat("a", 16): true, strings.Repeat("a", 17): false,
	} {
		reg, err := core.Open(memstore.New(memstore.Config{}), dibs.Config{Policies: blind(dibs.BlindKey{ID: id, Secret: keyA.Secret})})
		if (err == nil) != valid {
			t.Errorf("a key with the ID %q: %v", id, err)
		}
		if err == nil {
			_ = reg.Close()
		}
	}
}

// Free names that the newest key does not find raise the epoch in the namespace record, so that
// their epochs do not start over when the old key is removed.
func TestEpochsOutliveKeys(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, blind(keyA))
	for _, user := range []dibs.Entity{coretest.User1, coretest.User2, coretest.User3} {
		f.Must(coretest.Claim("email", "x@y", user), coretest.Decommission("email", "x@y", user))
		f.Clock.Advance(time.Hour)
	}
	both := f.Reopened(blind(keyB, keyA))
	if _, err := both.Recanonicalize(f.Ctx, dibs.RecanonicalizeRequest{Namespace: "email"}); err != nil {
		t.Fatal(err)
	}
	if n := f.Reopened(blind(keyB)).One(coretest.Claim("email", "x@y", coretest.User1)); n.Epoch <= 3 {
		t.Errorf("the epoch went from 3 to %d", n.Epoch)
	}
}

// Two processes without a common key have made two rows of one name. A process with both keys counts
// the row that is taken.
func TestBlindRowsOfOneName(t *testing.T) {
	t.Parallel()
	for _, free := range []dibs.BlindKey{keyA, keyB} {
		policies := func(keys ...dibs.BlindKey) map[string]dibs.Policy {
			return map[string]dibs.Policy{"email": {Blind: keys}}
		}
		f := coretest.NewFixture(t, policies(keyA))
		owners := map[string]dibs.Entity{"a": coretest.User1, "b": coretest.User2}
		for _, key := range []dibs.BlindKey{keyA, keyB} {
			f.Reopened(policies(key)).Must(coretest.Claim("email", "x@y", owners[key.ID]))
		}
		f.Reopened(policies(free)).Must(coretest.Decommission("email", "x@y", owners[free.ID]))
		taken := keyA.ID
		if free.ID == taken {
			taken = keyB.ID
		}
		both := f.Reopened(policies(keyB, keyA))
		both.Refused(dibs.ErrNameTaken, coretest.Claim("email", "x@y", coretest.User3))
		if n := both.NameOf("email", "x@y"); n.Entity != owners[taken] {
			t.Errorf("the name of key %s is free, and the name is %+v", free.ID, n)
		}
	}
}

// A name that is indexed under some of the keys only is not guessed: Commit does not check that the
// other entries are absent.
func TestBlindNameIsNotGuessed(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, blind(keyA))
	f.Must(coretest.Claim("email", "x@y", coretest.User1), coretest.Decommission("email", "x@y", coretest.User1))
	f.Clock.Advance(time.Hour)
	known := make(map[rules.Key]dibs.Record)
	for _, kind := range []dibs.Kind{dibs.KindName, dibs.KindNamespace, dibs.KindHash, dibs.KindSkeleton} {
		for _, r := range f.Records(kind) {
			known[rules.KeyOf(r.Ref())] = r
		}
	}
	recall := func(key rules.Key) dibs.Record { return known[key] }
	for _, c := range []struct {
		value    string
		keys     []dibs.BlindKey
		complete bool
	}{{"x@y", []dibs.BlindKey{keyA}, true}, {"x@y", []dibs.BlindKey{keyB, keyA}, false}, {"new@y", []dibs.BlindKey{keyB, keyA}, true}} {
		claim := []*rules.Request{mustApply(t, mustPolicies(t, blind(c.keys...)), coretest.Claim("email", c.value, coretest.User2))}
		var b rules.Batch
		b.Guess(claim, dibs.InstantOf(f.Clock.Now()), dibs.Window{}, recall)
		b.Decide(claim)
		if _, refused := claim[0].Result(); b.Complete() != c.complete || refused != nil {
			t.Errorf("a guess of %s with %d keys is complete: %v; %v", c.value, len(c.keys), b.Complete(), refused)
		}
	}
}

// A Rename finds the name that it replaces under an older key.
func TestRenameFromAnOlderKey(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, blind(keyA))
	f.Must(coretest.Claim("email", "old@y", coretest.User1))
	both := f.Reopened(blind(keyB, keyA))
	both.Must(dibs.Rename{Namespace: "email", From: "old@y", Value: "new@y", Entity: coretest.User1})
	r, err := both.Resolve(both.Ctx, "email", "old@y")
	if err != nil || r.Outcome != dibs.ResolveMoved {
		t.Errorf("%+v, %v", r, err)
	}
}
