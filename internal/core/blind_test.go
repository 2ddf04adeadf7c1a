package core_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
)

const secretValue = "Alice.Liddell@example.com"

var (
	keyA = dibs.BlindKey{ID: "a", Secret: bytes.Repeat([]byte("a"), 32)}
	keyB = dibs.BlindKey{ID: "b", Secret: bytes.Repeat([]byte("b"), 32)}
	keyC = dibs.BlindKey{ID: "c", Secret: bytes.Repeat([]byte("c"), 32)}
)

func blind(keys ...dibs.BlindKey) map[string]dibs.Policy {
	return map[string]dibs.Policy{"email": {
		Profile: lower{}, Blind: keys, Skeleton: digits{}, HoldHistory: time.Hour, Quarantine: time.Minute,
		ReservedWords: dibs.WordList("root@example.com"), ManyPerEntity: true,
	}}
}

// saysNothing fails if a text has the value in it, however it is written.
func saysNothing(t *testing.T, what any) {
	t.Helper()
	text := strings.ToLower(fmt.Sprintf("%+v %#v", what, what))
	for _, part := range []string{"alice", "liddell", "example.com"} {
		if strings.Contains(text, part) {
			t.Errorf("the value is in %s", text)
		}
	}
}

// Everything that a name can go through, without its value anywhere.
func TestBlindLife(t *testing.T) {
	t.Parallel()
	f := newFixture(t, blind(keyA))
	hold, err := f.Reserve(f.ctx, dibs.Reserve{Namespace: "email", Value: secretValue, Token: token1})
	if err != nil {
		t.Fatal(err)
	}
	saysNothing(t, hold)
	if !strings.HasPrefix(hold.Canonical, "a.") || hold.ID != dibs.NameID("email", hold.Canonical) {
		t.Errorf("canonical %q, id %s", hold.Canonical, hold.ID)
	}
	for _, taken := range []string{secretValue, strings.ToUpper(secretValue)} {
		e := f.refused(dibs.ErrNameTaken, claim("email", taken, user2))
		saysNothing(t, *e)
		if len(e.Suggestions) > 0 {
			t.Error("there are suggestions for a hidden value")
		}
	}
	e := f.refused(dibs.ErrNameTaken, claim("email", strings.ReplaceAll(secretValue, "l", "1"), user2))
	saysNothing(t, *e)
	if e.Reason != dibs.ReasonConfusable {
		t.Errorf("the reason of a look-alike is %s", e.Reason)
	}
	f.must(dibs.Confirm{ID: hold.ID, Token: token1, Entity: user1})
	f.replayed(claim("email", secretValue, user1))
	f.must(dibs.Transfer{Namespace: "email", Value: secretValue, From: user1, To: user2})
	f.must(dibs.Rename{Namespace: "email", Value: "new-" + secretValue, Entity: user2, From: secretValue})
	r, err := f.Resolve(f.ctx, "email", secretValue)
	if err != nil || r.Outcome != dibs.ResolveMoved {
		t.Errorf("%+v, %v", r, err)
	}
	saysNothing(t, r)
	f.must(dibs.Decommission{Namespace: "email", Value: secretValue, Entity: user2})
	history, err := f.History(f.ctx, "email", secretValue)
	if err != nil || len(history) != 5 {
		t.Errorf("%d events, %v", len(history), err)
	}
	holder, err := f.WhoHeld(f.ctx, "email", secretValue, f.clock.Now())
	if err != nil || holder.State != dibs.Quarantined {
		t.Errorf("%+v, %v", holder, err)
	}
	if n, err := f.Get(f.ctx, dibs.Lookup{Namespace: "email", Value: secretValue}); err != nil || n.ID != hold.ID {
		t.Errorf("%+v, %v", n, err)
	}
	saysNothing(t, f.dump())
	for _, r := range f.dump().Records {
		saysNothing(t, r)
		if doc, ok := r.(*dibs.Document); ok {
			saysNothing(t, string(doc.Data))
		}
	}
}

// No error gives a hidden value away.
func TestBlindErrors(t *testing.T) {
	t.Parallel()
	f := newFixture(t, blind(keyA))
	bad := secretValue + "!"
	e := f.refused(dibs.ErrInvalidValue, claim("email", bad, user1))
	saysNothing(t, *e)
	if e.Refusal == nil || e.Refusal.Rule != "exclamation" {
		t.Errorf("the refusal %+v does not name the rule", e.Refusal)
	}
	saysNothing(t, *e.Refusal)
	saysNothing(t, *f.refused(dibs.ErrInvalidValue, claim("email", secretValue+"\x00", user1)))
	word := f.refused(dibs.ErrReservedWord, claim("email", "root@example.com", user1))
	saysNothing(t, *word)
	for _, a := range []dibs.Availability{f.check("email", bad), f.check("email", "root@example.com")} {
		a.Value = "" // the caller's own
		saysNothing(t, a)
	}
	for _, err := range []error{
		f.refused(dibs.ErrNotFound, dibs.Decommission{Namespace: "email", Value: secretValue, Entity: user1}),
		f.refused(dibs.ErrNotFound, dibs.Rekey{Namespace: "email", Value: secretValue}),
	} {
		saysNothing(t, err)
	}
}

// A key shows its name, and never its secret.
func TestBlindKeyIsNotShown(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "key", keyA, "policy", blind(keyA)["email"])
	for _, text := range []string{fmt.Sprint(keyA), fmt.Sprintf("%+v %#v %v", keyA, keyA, []dibs.BlindKey{keyA}), log.String()} {
		if strings.Contains(text, "aaaa") || strings.Contains(text, "YWFh") || strings.Contains(text, "97 97") {
			t.Errorf("the secret is in %s", text)
		}
	}
}

// Whatever order of keys processes know, as long as two of them share a key, neither
// gives away what the other has given out.
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
				f := newFixture(t, blind(firstKeys...))
				n := f.one(claim("email", secretValue, user1))
				g := f.reopened(blind(secondKeys...))
				g.refused(dibs.ErrNameTaken, claim("email", secretValue, user2))
				g.refused(dibs.ErrNameTaken, claim("email", strings.ReplaceAll(secretValue, "l", "1"), user2))
				g.replayed(claim("email", secretValue, user1))
				if r, err := g.Resolve(g.ctx, "email", secretValue); err != nil || r.Entity != user1 {
					t.Errorf("%+v, %v", r, err)
				}
				// Taken again, it keeps its row, its epoch and its history.
				g.must(dibs.Decommission{Namespace: "email", Value: secretValue, Entity: user1})
				g.clock.advance(time.Minute)
				again := g.one(claim("email", secretValue, user2))
				if again.ID != n.ID || again.Epoch != n.Epoch+1 {
					t.Errorf("%s at epoch %d, then %s at %d", n.ID, n.Epoch, again.ID, again.Epoch)
				}
			})
		}
	}
}

// A name from before the rotation is found by the new key alone once it was rekeyed.
func TestRekey(t *testing.T) {
	t.Parallel()
	f := newFixture(t, blind(keyA))
	f.must(claim("email", secretValue, user1), claim("email", "other@example.com", user2))
	both := f.reopened(blind(keyB, keyA))
	unfiled := func(want int) {
		t.Helper()
		report, err := both.Recanonicalize(f.ctx, dibs.RecanonicalizeRequest{Namespace: "email"})
		if err != nil || report.Counts[dibs.FindingUnfiled] != want {
			t.Fatalf("%+v, %v; want %d unfiled", report, err, want)
		}
		saysNothing(t, report)
	}
	unfiled(2)
	both.must(dibs.Rekey{Namespace: "email", Value: secretValue})
	both.replayed(dibs.Rekey{Namespace: "email", Value: strings.ToUpper(secretValue)})
	unfiled(1)
	both.must(dibs.Rekey{Namespace: "email", Value: "other@example.com"})
	unfiled(0)

	only := f.reopened(blind(keyB))
	only.refused(dibs.ErrNameTaken, claim("email", secretValue, user2))
	only.refused(dibs.ErrNameTaken, claim("email", strings.ReplaceAll(secretValue, "l", "1"), user2))
	only.replayed(claim("email", secretValue, user1))
	f.refused(dibs.ErrInvalidNamespace, dibs.Rekey{Namespace: "slug", Value: "x"})
}

// What was never confirmed leaves no hash behind.
func TestBlindPurge(t *testing.T) {
	t.Parallel()
	f := newFixture(t, blind(keyB, keyA))
	f.must(reserve("email", secretValue, token1))
	if n := len(f.dump().Records); n != 6 { // name, floor, two hashes, two skeletons
		t.Fatalf("%d records", n)
	}
	f.clock.advance(dibs.DefaultTTL + time.Hour)
	f.sweep()
	f.sweep()
	if records := f.dump().Records; len(records) != 1 || records[0].Ref().Kind != dibs.KindFloor {
		t.Errorf("left: %v", records)
	}
	if n := f.one(reserve("email", secretValue, token1)); n.Epoch != 2 {
		t.Errorf("the epoch is %d again", n.Epoch)
	}
}
