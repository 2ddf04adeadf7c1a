package rules_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// release returns a Release of slug:x.
func release(token string) dibs.Release {
	return dibs.Release{ID: dibs.NameID("slug", "x"), Token: token}
}

// A late duplicate of a Reserve takes nothing, however its hold ended and even if others have held
// the name since.
func TestLateDuplicateTakesNothing(t *testing.T) {
	t.Parallel()
	confirmed := func(f *coretest.Fixture) {
		f.Must(dibs.Confirm{ID: dibs.NameID("slug", "x"), Token: coretest.Token1, Entity: coretest.User1})
		f.Must(coretest.Decommission("slug", "x", coretest.User1))
	}
	for _, c := range []struct {
		name string
		end  func(f *coretest.Fixture)
		want error
	}{
		{"expired", func(f *coretest.Fixture) { f.Clock.Advance(aHold) }, dibs.ErrAlreadyExpired},
		{"swept", func(f *coretest.Fixture) { f.Clock.Advance(aHold); f.SweepAll() }, dibs.ErrAlreadyExpired},
		{"released", func(f *coretest.Fixture) { f.Must(release(coretest.Token1)) }, dibs.ErrAlreadyReleased},
		{"confirmed", confirmed, dibs.ErrAlreadyConfirmed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := coretest.NewFixture(t, nil)
			f.Must(coretest.Reserve("slug", "x", coretest.Token1))
			c.end(f)
			f.Must(coretest.Reserve("slug", "x", coretest.Token2), release(coretest.Token2))
			late := func() {
				t.Helper()
				f.Refused(c.want, coretest.Reserve("slug", "x", coretest.Token1))
				f.Refused(c.want, dibs.ReserveAll{Token: coretest.Token1, Reservations: []dibs.Reserve{{Namespace: "slug", Value: "y"}, {Namespace: "slug", Value: "x"}}})
				f.Refused(c.want, dibs.ReserveFirst{Namespace: "slug", Values: []string{"y", "x"}, Token: coretest.Token1})
			}
			late()
			f.Refused(dibs.ErrLost, release(coretest.Token1))
			f.Refused(dibs.ErrLost, dibs.Extend{ID: dibs.NameID("slug", "x"), Token: coretest.Token1})
			f.Refused(dibs.ErrLost, dibs.Confirm{ID: dibs.NameID("slug", "x"), Token: coretest.Token1, Entity: coretest.User1})
			// A Claim has no token, and keeps the remembered tokens.
			f.Must(coretest.Claim("slug", "x", coretest.User2), coretest.Decommission("slug", "x", coretest.User2))
			late()
			f.Refused(dibs.ErrAlreadyReleased, coretest.Reserve("slug", "x", coretest.Token2))

			// While the name is taken, Reserve says so. ReserveFirst does not take another candidate.
			f.Must(coretest.Reserve("slug", "x", coretest.Token3))
			f.Refused(dibs.ErrNameTaken, coretest.Reserve("slug", "x", coretest.Token1))
			f.Refused(c.want, dibs.ReserveFirst{Namespace: "slug", Values: []string{"y", "x"}, Token: coretest.Token1})
		})
	}
}

// A token is remembered for exactly HoldHistory after its hold ended, also in a row that is never
// purged.
func TestSpentTokensAreRememberedForHoldHistory(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {HoldHistory: time.Hour}})
	f.Must(coretest.Claim("slug", "x", coretest.User1), coretest.Decommission("slug", "x", coretest.User1)) // never purged
	f.Must(coretest.Reserve("slug", "x", coretest.Token1), release(coretest.Token1))
	f.Clock.Advance(time.Minute)
	f.Must(coretest.Reserve("slug", "x", coretest.Token2), release(coretest.Token2))
	f.Clock.Advance(59*time.Minute - time.Millisecond)
	f.SweepAll()
	f.Refused(dibs.ErrAlreadyReleased, coretest.Reserve("slug", "x", coretest.Token1))
	f.Clock.Advance(time.Millisecond)
	f.Must(coretest.Reserve("slug", "x", coretest.Token1), release(coretest.Token1))
	f.Refused(dibs.ErrAlreadyReleased, coretest.Reserve("slug", "x", coretest.Token2))
	f.Clock.Advance(time.Hour)
	f.Must(coretest.Claim("slug", "x", coretest.User1))
	if n := tokensOf(f, "x"); n != 0 {
		t.Errorf("%d tokens are remembered after HoldHistory", n)
	}
}

// A row remembers a bounded number of tokens. The oldest go first.
func TestSpentTokensAreBounded(t *testing.T) {
	t.Parallel()
	const most = 16
	f := coretest.NewFixture(t, nil)
	token := func(i int) string { return fmt.Sprint(coretest.Token1, i) }
	for i := range most + 2 {
		f.Must(coretest.Reserve("slug", "x", token(i)), release(token(i)))
	}
	if n := tokensOf(f, "x"); n != most {
		t.Errorf("the row has %d tokens, want %d", n, most)
	}
	for i := 1; i < most+2; i++ { // all but the oldest
		f.Refused(dibs.ErrAlreadyReleased, coretest.Reserve("slug", "x", token(i)))
	}
	f.Must(coretest.Reserve("slug", "x", token(0)))
}

// A token belongs to its principal: the same token of another principal is not a duplicate.
func TestSpentTokensBelongToAPrincipal(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	ann, bob, clerk := f.ActAs("ann", 0), f.ActAs("bob", 0), f.ActAs("clerk", dibs.ActForOthers)
	ann.Must(coretest.Reserve("slug", "x", coretest.Token1), release(coretest.Token1))
	ann.Must(coretest.Reserve("slug", "x", coretest.Token2), release(coretest.Token2))
	ann.Refused(dibs.ErrAlreadyReleased, coretest.Reserve("slug", "x", coretest.Token1))
	clerk.Refused(dibs.ErrAlreadyReleased, coretest.Reserve("slug", "x", coretest.Token1))
	bob.Must(coretest.Reserve("slug", "x", coretest.Token1), release(coretest.Token1))
	ann.Refused(dibs.ErrAlreadyReleased, coretest.Reserve("slug", "x", coretest.Token2))
}

// A late duplicate is refused as such before MaxHolds is checked.
func TestSpentTokenBeforeQuota(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {MaxHolds: 1}})
	f.Must(coretest.Reserve("slug", "x", coretest.Token1), release(coretest.Token1))
	f.Must(coretest.Reserve("slug", "x", coretest.Token2), release(coretest.Token2))
	f.Must(coretest.Reserve("slug", "y", coretest.Token2))
	f.Refused(dibs.ErrAlreadyReleased, coretest.Reserve("slug", "x", coretest.Token1))
	f.Refused(dibs.ErrTooManyHolds, coretest.Reserve("slug", "x", coretest.Token3))
}

// Forget also erases a person's tokens, with the person's names and in rows that belong to other
// entities now.
func TestForgetErasesSpentTokens(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.Forgetful())
	hers := func(value string) {
		r := coretest.Reserve("slug", value, coretest.Token1)
		r.Entity = coretest.Alice
		f.Must(r, dibs.Confirm{ID: dibs.NameID("slug", value), Token: coretest.Token1, Entity: coretest.Alice})
	}
	hers("x")
	f.Must(dibs.Transfer{Namespace: "slug", Value: "x", From: coretest.Alice, To: coretest.User2}) // the row keeps her token
	f.Must(coretest.Decommission("slug", "x", coretest.User2))
	f.Must(coretest.Reserve("slug", "x", coretest.Token2), release(coretest.Token2))
	f.Must(coretest.Claim("slug", "x", coretest.User3))
	if n := tokensOf(f, "x"); n != 2 {
		t.Fatalf("the row has %d tokens, want hers and one more", n)
	}
	f.MustForget(dibs.ForgetRequest{Entity: coretest.Alice})
	if n := tokensOf(f, "x"); n != 1 {
		t.Errorf("the row has %d tokens, want one", n)
	}
	f.MustForget(dibs.ForgetRequest{Entity: coretest.User3})
	if n := tokensOf(f, "x"); n != 0 {
		t.Errorf("the tombstone has %d tokens", n)
	}
}

// Tokens move with the name when the rules of its namespace change.
func TestSpentTokensMove(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.ExactSlugs())
	spend := func(value string, tokens ...string) {
		for _, token := range tokens {
			f.Must(coretest.Reserve("slug", value, token), dibs.Release{ID: dibs.NameID("slug", value), Token: token})
		}
	}
	spend("alice", coretest.Token1, coretest.Token1+"-2")    // free, and the same name as
	spend("Alice", coretest.Token2, coretest.Token2+"-2")    // this one under the new rules
	f.Must(coretest.Claim("slug", "Alice", coretest.User1))  //
	hold := coretest.Reserve("slug", "Bob", coretest.Token3) // merged with bob
	f.Must(hold, dibs.Confirm{ID: dibs.NameID("slug", "Bob"), Token: coretest.Token3, Entity: coretest.User2})
	f.Must(coretest.Rename("slug", "bob", coretest.User2))

	g := f.Reopened(coretest.FoldedSlugs())
	g.MustRecanonicalize(false)
	for _, value := range []string{"alice", "bob"} {
		g.Must(coretest.Decommission("slug", value, g.NameOf("slug", value).Entity))
	}
	for _, token := range []string{coretest.Token1, coretest.Token1 + "-2", coretest.Token2, coretest.Token2 + "-2"} {
		g.Refused(dibs.ErrAlreadyReleased, coretest.Reserve("slug", "alice", token))
	}
	g.Refused(dibs.ErrAlreadyConfirmed, coretest.Reserve("slug", "BOB", coretest.Token3))
	if n := tokensOf(f, "Alice"); n != 0 {
		t.Errorf("the row that the name has left has %d tokens", n)
	}
	moved := 0
	for _, spent := range rowOf(f, "alice").Spent {
		if spent.Epoch == 0 { // the epochs of the former row mean nothing here
			moved++
		}
	}
	if moved != 2 {
		t.Errorf("%d tokens came with the name, want 2", moved)
	}
}

// tokensOf returns how many tokens of earlier holds the row of a slug has.
func tokensOf(f *coretest.Fixture, value string) int {
	f.T.Helper()
	found, err := f.Engine.Load(f.Ctx, []dibs.Ref{{Kind: dibs.KindName, ID: dibs.NameID("slug", value)}})
	if err != nil || len(found.Records) != 1 {
		f.T.Fatalf("%+v, %v", found, err)
	}
	return len(found.Records[0].(*dibs.NameRecord).Spent)
}
