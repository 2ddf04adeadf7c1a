package core_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/calldibs/dibs"
)

// release lets go of slug:x.
func release(token string) dibs.Release {
	return dibs.Release{ID: dibs.NameID("slug", "x"), Token: token}
}

// A late duplicate takes nothing, also when others have held the name since, and however
// its hold ended.
func TestLateDuplicateTakesNothing(t *testing.T) {
	t.Parallel()
	confirmed := func(f *fixture) {
		f.must(dibs.Confirm{ID: dibs.NameID("slug", "x"), Token: token1, Entity: user1})
		f.must(decommission("slug", "x", user1))
	}
	for _, c := range []struct {
		name string
		end  func(f *fixture)
		want error
	}{
		{"expired", func(f *fixture) { f.clock.advance(aHold) }, dibs.ErrAlreadyExpired},
		{"swept", func(f *fixture) { f.clock.advance(aHold); f.sweep() }, dibs.ErrAlreadyExpired},
		{"released", func(f *fixture) { f.must(release(token1)) }, dibs.ErrAlreadyReleased},
		{"confirmed", confirmed, dibs.ErrAlreadyConfirmed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, nil)
			f.must(reserve("slug", "x", token1))
			c.end(f)
			f.must(reserve("slug", "x", token2), release(token2))
			late := func() {
				t.Helper()
				f.refused(c.want, reserve("slug", "x", token1))
				f.refused(c.want, dibs.ReserveAll{Token: token1, Reservations: []dibs.Reserve{{Namespace: "slug", Value: "y"}, {Namespace: "slug", Value: "x"}}})
				f.refused(c.want, dibs.ReserveFirst{Namespace: "slug", Values: []string{"y", "x"}, Token: token1})
			}
			late()
			f.refused(dibs.ErrLost, release(token1))
			f.refused(dibs.ErrLost, dibs.Extend{ID: dibs.NameID("slug", "x"), Token: token1})
			f.refused(dibs.ErrLost, dibs.Confirm{ID: dibs.NameID("slug", "x"), Token: token1, Entity: user1})
			// A claim has no token, and leaves those before it alone.
			f.must(claim("slug", "x", user2), decommission("slug", "x", user2))
			late()
			f.refused(dibs.ErrAlreadyReleased, reserve("slug", "x", token2))

			// While it is somebody's, that is what a caller is told; but no other one is taken instead.
			f.must(reserve("slug", "x", token3))
			f.refused(dibs.ErrNameTaken, reserve("slug", "x", token1))
			f.refused(c.want, dibs.ReserveFirst{Namespace: "slug", Values: []string{"y", "x"}, Token: token1})
		})
	}
}

// A token is remembered HoldHistory after its hold ended, to the very millisecond, also on a
// name that stays for ever.
func TestSpentTokensAreForgottenInTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]dibs.Policy{"slug": {HoldHistory: time.Hour}})
	f.must(claim("slug", "x", user1), decommission("slug", "x", user1)) // never purged
	f.must(reserve("slug", "x", token1), release(token1))
	f.clock.advance(time.Minute)
	f.must(reserve("slug", "x", token2), release(token2))
	f.clock.advance(59*time.Minute - time.Millisecond)
	f.sweep()
	f.refused(dibs.ErrAlreadyReleased, reserve("slug", "x", token1))
	f.clock.advance(time.Millisecond)
	f.must(reserve("slug", "x", token1), release(token1))
	f.refused(dibs.ErrAlreadyReleased, reserve("slug", "x", token2))
	f.clock.advance(time.Hour)
	f.must(claim("slug", "x", user1))
	if n := f.tokensOf("x"); n != 0 {
		t.Errorf("%d tokens are remembered for longer than they have to be", n)
	}
}

// There is an end to what a name can be made to remember: then the oldest go.
func TestSpentTokensAreBounded(t *testing.T) {
	t.Parallel()
	const most = 16
	f := newFixture(t, nil)
	token := func(i int) string { return fmt.Sprint(token1, i) }
	for i := range most + 2 {
		f.must(reserve("slug", "x", token(i)), release(token(i)))
	}
	if n := f.tokensOf("x"); n != most {
		t.Errorf("the row has %d tokens, want %d", n, most)
	}
	for i := 1; i < most+2; i++ { // the last one among them
		f.refused(dibs.ErrAlreadyReleased, reserve("slug", "x", token(i)))
	}
	f.must(reserve("slug", "x", token(0)))
}

// A token is its principal's: what others do with the same one is nobody's duplicate.
func TestSpentTokensArePrincipals(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	ann, bob, clerk := f.as("ann", 0), f.as("bob", 0), f.as("clerk", dibs.ActForOthers)
	ann.must(reserve("slug", "x", token1), release(token1))
	ann.must(reserve("slug", "x", token2), release(token2))
	ann.refused(dibs.ErrAlreadyReleased, reserve("slug", "x", token1))
	clerk.refused(dibs.ErrAlreadyReleased, reserve("slug", "x", token1))
	bob.must(reserve("slug", "x", token1), release(token1))
	ann.refused(dibs.ErrAlreadyReleased, reserve("slug", "x", token2))
}

// MaxHolds is for those who ask for something new.
func TestSpentTokenBeforeQuota(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]dibs.Policy{"slug": {MaxHolds: 1}})
	f.must(reserve("slug", "x", token1), release(token1))
	f.must(reserve("slug", "x", token2), release(token2))
	f.must(reserve("slug", "y", token2))
	f.refused(dibs.ErrAlreadyReleased, reserve("slug", "x", token1))
	f.refused(dibs.ErrTooManyHolds, reserve("slug", "x", token3))
}

// What is forgotten of a person are her tokens, too: with the name, and in the row of a name
// that is another's since.
func TestSpentTokensAreForgotten(t *testing.T) {
	t.Parallel()
	f := newFixture(t, forgetful())
	hers := func(value string) {
		r := reserve("slug", value, token1)
		r.Entity = alice
		f.must(r, dibs.Confirm{ID: dibs.NameID("slug", value), Token: token1, Entity: alice})
	}
	hers("x")
	f.must(dibs.Transfer{Namespace: "slug", Value: "x", From: alice, To: user2}) // her token goes with it
	f.must(decommission("slug", "x", user2))
	f.must(reserve("slug", "x", token2), release(token2))
	f.must(claim("slug", "x", user3))
	if n := f.tokensOf("x"); n != 2 {
		t.Fatalf("the row has %d tokens, want hers and another", n)
	}
	f.forget(dibs.ForgetRequest{Entity: alice})
	if n := f.tokensOf("x"); n != 1 {
		t.Errorf("the row has %d tokens, want the other one's", n)
	}
	f.forget(dibs.ForgetRequest{Entity: user3})
	if n := f.tokensOf("x"); n != 0 {
		t.Errorf("the tombstone has %d tokens", n)
	}
}

// Tokens go with the name when the rules of its namespace change.
func TestSpentTokensMove(t *testing.T) {
	t.Parallel()
	f := newFixture(t, exactly())
	spend := func(value string, tokens ...string) {
		for _, token := range tokens {
			f.must(reserve("slug", value, token), dibs.Release{ID: dibs.NameID("slug", value), Token: token})
		}
	}
	spend("alice", token1, token1+"-2")    // nobody has it, and it becomes the same as
	spend("Alice", token2, token2+"-2")    // this one
	f.must(claim("slug", "Alice", user1))  //
	hold := reserve("slug", "Bob", token3) // these two become one
	f.must(hold, dibs.Confirm{ID: dibs.NameID("slug", "Bob"), Token: token3, Entity: user2})
	f.must(rename("slug", "bob", user2))

	g := f.reopened(folded())
	g.recanonicalize(false)
	for _, value := range []string{"alice", "bob"} {
		g.must(decommission("slug", value, g.name("slug", value).Entity))
	}
	for _, token := range []string{token1, token1 + "-2", token2, token2 + "-2"} {
		g.refused(dibs.ErrAlreadyReleased, reserve("slug", "alice", token))
	}
	g.refused(dibs.ErrAlreadyConfirmed, reserve("slug", "BOB", token3))
	if n := f.tokensOf("Alice"); n != 0 {
		t.Errorf("the row that the name has left has %d tokens", n)
	}
}
