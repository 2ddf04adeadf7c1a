package core_test

import (
	"fmt"
	"testing"

	"github.com/calldibs/dibs"
)

// manyFixture lets an entity have several emails.
func manyFixture(t *testing.T) *fixture {
	return newFixture(t, map[string]dibs.Policy{"email": {ManyPerEntity: true}})
}

// follow renames one of an entity's names.
func follow(from, to string, entity dibs.Entity) dibs.Rename {
	return dibs.Rename{Namespace: "email", From: from, Value: to, Entity: entity}
}

func TestManyNames(t *testing.T) {
	t.Parallel()
	f := manyFixture(t)
	f.must(claim("email", "a", user1))
	f.must(claim("email", "b", user1))
	f.replayed(claim("email", "a", user1))
	// Which one is replaced has to be said, also where there is one only.
	f.refused(dibs.ErrEntityHasName, rename("email", "c", user1))
	f.must(decommission("email", "b", user1))
	f.refused(dibs.ErrEntityHasName, rename("email", "c", user1))
	f.must(rename("email", "c", user2)) // who has none claims it
	f.refused(dibs.ErrNotOwner, follow("c", "d", user1))
	f.refused(dibs.ErrNotOwner, follow("nobody's", "d", user1))
	f.must(follow("a", "d", user1))
	f.replayed(follow("a", "d", user1))
	f.replayed(follow("d", "d", user1))
	f.replayed(rename("email", "d", user1))
	f.refused(dibs.ErrNotOwner, follow("a", "e", user1)) // an alias is no active name
	// One active name cannot take another's place.
	f.must(claim("email", "g", user1))
	f.refused(dibs.ErrNameTaken, follow("d", "g", user1))
}

// A chain of renames leads to its end in one hop, and two lines do not mix.
func TestManyLines(t *testing.T) {
	t.Parallel()
	f := manyFixture(t)
	f.must(claim("email", "a1", user1))
	f.must(claim("email", "b1", user1))
	for i := range 3 {
		f.must(follow(fmt.Sprint("a", i+1), fmt.Sprint("a", i+2), user1))
		f.must(follow(fmt.Sprint("b", i+1), fmt.Sprint("b", i+2), user1))
	}
	leads := func(a, b string) {
		t.Helper()
		for _, v := range []string{"a1", "a2", "a3"} {
			f.wantLeads("email", v, 301, a)
		}
		for _, v := range []string{"b1", "b2", "b3"} {
			f.wantLeads("email", v, 301, b)
		}
	}
	leads("a4", "b4")
	f.wantLeads("email", "a4", 200, "")
	// Back to the first one: the same row, the same epoch.
	if n := f.one(follow("a4", "a1", user1)); n.Epoch != 1 {
		t.Errorf("an alias came back with epoch %d", n.Epoch)
	}
	f.wantLeads("email", "a4", 301, "a1")
	f.must(follow("a1", "a4", user1))
	leads("a4", "b4")
	// An alias of one line can succeed in the other.
	f.must(follow("b4", "a2", user1))
	f.wantLeads("email", "b1", 301, "a2")
	f.wantLeads("email", "a1", 301, "a4")
	// The end of a line leaves its aliases without a successor.
	f.must(decommission("email", "a4", user1))
	f.wantLeads("email", "a1", 410, "")
	f.wantLeads("email", "b1", 301, "a2")
}

func TestManyConfirm(t *testing.T) {
	t.Parallel()
	f := manyFixture(t)
	f.must(claim("email", "a", user1), claim("email", "b", user1), reserve("email", "c", token1))
	confirm := dibs.Confirm{ID: dibs.NameID("email", "c"), Token: token1, Entity: user1, Replace: true}
	f.refused(dibs.ErrEntityHasName, confirm)
	confirm.Replace, confirm.Replaces = false, "d"
	f.refused(dibs.ErrNotOwner, confirm)
	confirm.Replaces = "b"
	f.must(confirm)
	f.replayed(confirm)
	f.wantLeads("email", "b", 301, "c")
	f.wantLeads("email", "a", 200, "")
	f.must(reserve("email", "d", token1))
	f.must(dibs.Confirm{ID: dibs.NameID("email", "d"), Token: token1, Entity: user1}) // one more
	f.wantLeads("email", "a", 200, "")
}

// Swap exchanges places: aliases go on to lead to their own entity's name.
func TestManySwap(t *testing.T) {
	t.Parallel()
	f := manyFixture(t)
	f.must(claim("email", "a1", user1), follow("a1", "a2", user1), claim("email", "z", user1))
	f.must(claim("email", "b1", user2), follow("b1", "b2", user2))
	swap := dibs.Swap{Namespace: "email", A: dibs.Named{Value: "a2", Entity: user1}, B: dibs.Named{Value: "b2", Entity: user2}}
	r := f.must(swap)[0]
	if r.Names[0].Entity != user2 || r.Names[1].Entity != user1 || r.Names[0].Epoch != 2 || r.Names[1].Epoch != 2 {
		t.Errorf("swapped to %+v", r.Names)
	}
	f.replayed(swap)
	f.wantLeads("email", "a1", 301, "b2")
	f.wantLeads("email", "b1", 301, "a2")
	f.wantLeads("email", "z", 200, "")
	// Each can be renamed, where it is now.
	f.must(follow("b2", "a3", user1))
	f.wantLeads("email", "a1", 301, "a3")
}

func TestManyTransfer(t *testing.T) {
	t.Parallel()
	f := manyFixture(t)
	f.must(claim("email", "a1", user1), follow("a1", "a2", user1), claim("email", "z", user1), claim("email", "b", user2))
	give := func(value string, from, to dibs.Entity) dibs.Transfer {
		return dibs.Transfer{Namespace: "email", Value: value, From: from, To: to}
	}
	n := f.one(give("a2", user1, user2)) // the receiver has another, and may have many
	if n.Entity != user2 || n.Epoch != 2 || n.State != dibs.Active {
		t.Errorf("transferred to %+v", n)
	}
	f.wantLeads("email", "a1", 410, "") // its successor is another's now
	f.wantLeads("email", "a2", 200, "")
	f.wantLeads("email", "b", 200, "")
	f.must(follow("a2", "a3", user2))
	f.wantLeads("email", "a2", 301, "a3")
	f.wantLeads("email", "b", 200, "")
	// An alias changes hands as an active name, and leaves its line alone.
	f.must(give("a2", user2, user3))
	f.wantLeads("email", "a2", 200, "")
	f.wantLeads("email", "a3", 200, "")
	f.must(decommission("email", "z", user1))
	f.must(claim("email", "z2", user1))
	// Names of several givers stand side by side.
	f.must(give("z2", user1, user3), give("b", user2, user3))
	f.wantActive(user1)
	f.wantActive(user2, "a3")
	f.wantActive(user3, "a2", "b", "z2")
}

// A policy may go back to one name per entity. Then no name can take the place of another
// while there are more than one: the entity would lose sight of those.
func TestManyNoMore(t *testing.T) {
	t.Parallel()
	many := map[string]dibs.Policy{"email": {ManyPerEntity: true}}
	for name, command := range map[string]dibs.Command{
		"rename": follow("b", "b2", user1),
		"swap":   dibs.Swap{Namespace: "email", A: dibs.Named{Value: "b", Entity: user1}, B: dibs.Named{Value: "c", Entity: user2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, many)
			f.must(claim("email", "a", user1))
			f.must(claim("email", "b", user1))
			f.must(claim("email", "c", user2))
			one := f.reopened(map[string]dibs.Policy{"email": {}})
			one.refused(dibs.ErrEntityHasName, command)
			one.must(decommission("email", "a", user1))
			one.must(command)
		})
	}
}
