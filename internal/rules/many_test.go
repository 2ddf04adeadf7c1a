package rules_test

import (
	"fmt"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// manyFixture lets an entity have several emails.
func manyFixture(t *testing.T) *coretest.Fixture {
	return coretest.NewFixture(t, map[string]dibs.Policy{"email": {ManyPerEntity: true}})
}

// follow renames one of an entity's names.
func follow(from, to string, entity dibs.Entity) dibs.Rename {
	return dibs.Rename{Namespace: "email", From: from, Value: to, Entity: entity}
}

func TestManyNames(t *testing.T) {
	t.Parallel()
	f := manyFixture(t)
	f.Must(coretest.Claim("email", "a", coretest.User1))
	f.Must(coretest.Claim("email", "b", coretest.User1))
	f.Replayed(coretest.Claim("email", "a", coretest.User1))
	// Which one is replaced has to be said, also where there is one only.
	f.Refused(dibs.ErrEntityHasName, coretest.Rename("email", "c", coretest.User1))
	f.Must(coretest.Decommission("email", "b", coretest.User1))
	f.Refused(dibs.ErrEntityHasName, coretest.Rename("email", "c", coretest.User1))
	f.Must(coretest.Rename("email", "c", coretest.User2)) // who has none claims it
	f.Refused(dibs.ErrNotOwner, follow("c", "d", coretest.User1))
	f.Refused(dibs.ErrNotOwner, follow("nobody's", "d", coretest.User1))
	f.Must(follow("a", "d", coretest.User1))
	f.Replayed(follow("a", "d", coretest.User1))
	f.Replayed(follow("d", "d", coretest.User1))
	f.Replayed(coretest.Rename("email", "d", coretest.User1))
	f.Refused(dibs.ErrNotOwner, follow("a", "e", coretest.User1)) // an alias is no active name
	// One active name cannot take another's place.
	f.Must(coretest.Claim("email", "g", coretest.User1))
	f.Refused(dibs.ErrNameTaken, follow("d", "g", coretest.User1))
}

// A chain of renames leads to its end in one hop, and two lines do not mix.
func TestManyLines(t *testing.T) {
	t.Parallel()
	f := manyFixture(t)
	f.Must(coretest.Claim("email", "a1", coretest.User1))
	f.Must(coretest.Claim("email", "b1", coretest.User1))
	for i := range 3 {
		f.Must(follow(fmt.Sprint("a", i+1), fmt.Sprint("a", i+2), coretest.User1))
		f.Must(follow(fmt.Sprint("b", i+1), fmt.Sprint("b", i+2), coretest.User1))
	}
	leads := func(a, b string) {
		t.Helper()
		for _, v := range []string{"a1", "a2", "a3"} {
			f.WantLeads("email", v, 301, a)
		}
		for _, v := range []string{"b1", "b2", "b3"} {
			f.WantLeads("email", v, 301, b)
		}
	}
	leads("a4", "b4")
	f.WantLeads("email", "a4", 200, "")
	// Back to the first one: the same row, the same epoch.
	if n := f.One(follow("a4", "a1", coretest.User1)); n.Epoch != 1 {
		t.Errorf("an alias came back with epoch %d", n.Epoch)
	}
	f.WantLeads("email", "a4", 301, "a1")
	f.Must(follow("a1", "a4", coretest.User1))
	leads("a4", "b4")
	// An alias of one line can succeed in the other.
	f.Must(follow("b4", "a2", coretest.User1))
	f.WantLeads("email", "b1", 301, "a2")
	f.WantLeads("email", "a1", 301, "a4")
	// The end of a line leaves its aliases without a successor.
	f.Must(coretest.Decommission("email", "a4", coretest.User1))
	f.WantLeads("email", "a1", 410, "")
	f.WantLeads("email", "b1", 301, "a2")
}

func TestManyConfirm(t *testing.T) {
	t.Parallel()
	f := manyFixture(t)
	f.Must(coretest.Claim("email", "a", coretest.User1), coretest.Claim("email", "b", coretest.User1), coretest.Reserve("email", "c", coretest.Token1))
	confirm := dibs.Confirm{ID: dibs.NameID("email", "c"), Token: coretest.Token1, Entity: coretest.User1, Replace: true}
	f.Refused(dibs.ErrEntityHasName, confirm)
	confirm.Replace, confirm.Replaces = false, "d"
	f.Refused(dibs.ErrNotOwner, confirm)
	confirm.Replaces = "b"
	f.Must(confirm)
	f.Replayed(confirm)
	f.WantLeads("email", "b", 301, "c")
	f.WantLeads("email", "a", 200, "")
	f.Must(coretest.Reserve("email", "d", coretest.Token1))
	f.Must(dibs.Confirm{ID: dibs.NameID("email", "d"), Token: coretest.Token1, Entity: coretest.User1}) // one more
	f.WantLeads("email", "a", 200, "")
}

// Swap exchanges places: aliases go on to lead to their own entity's name.
func TestManySwap(t *testing.T) {
	t.Parallel()
	f := manyFixture(t)
	f.Must(coretest.Claim("email", "a1", coretest.User1), follow("a1", "a2", coretest.User1), coretest.Claim("email", "z", coretest.User1))
	f.Must(coretest.Claim("email", "b1", coretest.User2), follow("b1", "b2", coretest.User2))
	swap := dibs.Swap{Namespace: "email", A: dibs.Named{Value: "a2", Entity: coretest.User1}, B: dibs.Named{Value: "b2", Entity: coretest.User2}}
	r := f.Must(swap)[0]
	if r.Names[0].Entity != coretest.User2 || r.Names[1].Entity != coretest.User1 || r.Names[0].Epoch != 2 || r.Names[1].Epoch != 2 {
		t.Errorf("swapped to %+v", r.Names)
	}
	f.Replayed(swap)
	f.WantLeads("email", "a1", 301, "b2")
	f.WantLeads("email", "b1", 301, "a2")
	f.WantLeads("email", "z", 200, "")
	// Each can be renamed, where it is now.
	f.Must(follow("b2", "a3", coretest.User1))
	f.WantLeads("email", "a1", 301, "a3")
}

func TestManyTransfer(t *testing.T) {
	t.Parallel()
	f := manyFixture(t)
	f.Must(coretest.Claim("email", "a1", coretest.User1), follow("a1", "a2", coretest.User1), coretest.Claim("email", "z", coretest.User1), coretest.Claim("email", "b", coretest.User2))
	give := func(value string, from, to dibs.Entity) dibs.Transfer {
		return dibs.Transfer{Namespace: "email", Value: value, From: from, To: to}
	}
	n := f.One(give("a2", coretest.User1, coretest.User2)) // the receiver has another, and may have many
	if n.Entity != coretest.User2 || n.Epoch != 2 || n.State != dibs.Active {
		t.Errorf("transferred to %+v", n)
	}
	f.WantLeads("email", "a1", 410, "") // its successor is another's now
	f.WantLeads("email", "a2", 200, "")
	f.WantLeads("email", "b", 200, "")
	f.Must(follow("a2", "a3", coretest.User2))
	f.WantLeads("email", "a2", 301, "a3")
	f.WantLeads("email", "b", 200, "")
	// An alias changes hands as an active name, and leaves its line alone.
	f.Must(give("a2", coretest.User2, coretest.User3))
	f.WantLeads("email", "a2", 200, "")
	f.WantLeads("email", "a3", 200, "")
	f.Must(coretest.Decommission("email", "z", coretest.User1))
	f.Must(coretest.Claim("email", "z2", coretest.User1))
	// Names of several givers stand side by side.
	f.Must(give("z2", coretest.User1, coretest.User3), give("b", coretest.User2, coretest.User3))
	f.WantActive(coretest.User1)
	f.WantActive(coretest.User2, "a3")
	f.WantActive(coretest.User3, "a2", "b", "z2")
}

// A policy may go back to one name per entity. Then no name can take the place of another
// while there are more than one: the entity would lose sight of those.
func TestManyNoMore(t *testing.T) {
	t.Parallel()
	many := map[string]dibs.Policy{"email": {ManyPerEntity: true}}
	for name, command := range map[string]dibs.Command{
		"rename": follow("b", "b2", coretest.User1),
		"swap":   dibs.Swap{Namespace: "email", A: dibs.Named{Value: "b", Entity: coretest.User1}, B: dibs.Named{Value: "c", Entity: coretest.User2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := coretest.NewFixture(t, many)
			f.Must(coretest.Claim("email", "a", coretest.User1))
			f.Must(coretest.Claim("email", "b", coretest.User1))
			f.Must(coretest.Claim("email", "c", coretest.User2))
			one := f.Reopened(map[string]dibs.Policy{"email": {}})
			one.Refused(dibs.ErrEntityHasName, command)
			one.Must(coretest.Decommission("email", "a", coretest.User1))
			one.Must(command)
		})
	}
}
