package rules_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// cellCodes are the short names of error codes in the tables.
var cellCodes = map[dibs.Code]string{
	dibs.CodeNameTaken:        "TAKEN",
	dibs.CodeNotFound:         "NOTFOUND",
	dibs.CodeLost:             "LOST",
	dibs.CodeAlreadyExpired:   "EXPIRED",
	dibs.CodeAlreadyConfirmed: "CONFIRMED",
	dibs.CodeAlreadyReleased:  "RELEASED",
	dibs.CodeEntityNotFound:   "NOENTITY",
	dibs.CodeEntityHasName:    "HASNAME",
	dibs.CodeEntityArchived:   "ARCHIVED",
	dibs.CodeNotOwner:         "NOTOWNER",
	dibs.CodeInvalidToken:     "TOKEN",
}

// expectations are the cells of all tables, by command and state.
type expectations map[string]map[string]string

// parseTables reads tables, each a line of commands and then a line for each state.
func parseTables(t *testing.T, tables []string) expectations {
	t.Helper()
	cells := make(expectations)
	for _, table := range tables {
		lines := strings.Split(strings.TrimSpace(table), "\n")
		commands := strings.Fields(lines[0])[1:] // the first word is "state"
		for _, command := range commands {
			if cells[command] != nil {
				t.Fatalf("two tables have a column %s", command)
			}
			cells[command] = make(map[string]string)
		}
		for _, line := range lines[1:] {
			fields := strings.Fields(line)
			if len(fields) != len(commands)+1 {
				t.Fatalf("%d cells for %d commands in %q", len(fields)-1, len(commands), line)
			}
			for i, command := range commands {
				if _, twice := cells[command][fields[0]]; twice {
					t.Fatalf("two lines for the state %s in the table of %s", fields[0], command)
				}
				cells[command][fields[0]] = fields[i+1]
			}
		}
	}
	return cells
}

// TestMatrix runs every command in every state of a name. No cell may be missing.
func TestMatrix(t *testing.T) {
	t.Parallel()
	cells, commands := parseTables(t, matrixTables), matrixColumns()
	for command := range cells {
		if commands[command] == nil {
			t.Errorf("a table has the column %s, which is not a command", command)
		}
	}
	known := make(map[string]bool)
	for _, s := range matrixStates {
		known[s.name] = true
	}
	for command, run := range commands {
		for state := range cells[command] {
			if !known[state] {
				t.Errorf("the table of %s has the line %s, which is not a state", command, state)
			}
		}
		for _, state := range matrixStates {
			t.Run(state.name+"/"+command, func(t *testing.T) {
				t.Parallel()
				want := cells[command][state.name]
				if want == "" {
					t.Fatal("the cell is missing")
				}
				got := runCell(t, state, run)
				if got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			})
		}
	}
}

// runCell brings x into a state, runs a command, and returns what a cell says.
func runCell(t *testing.T, state matrixState, run func(cell) outcome) string {
	t.Helper()
	f := coretest.NewFixture(t, matrixPolicies())
	c := cell{
		ann: f.ActAs("ann", dibs.Operate), bob: f.ActAs("bob", dibs.Operate), guest: f.ActAs("ann", 0),
		ns: state.namespace, id: dibs.NameID(state.namespace, "x"),
	}
	c.ann.Must(coretest.Claim(c.ns, "y", coretest.User2))
	state.make(c.ann, c.ns)

	before, epoch := c.everything(), c.epoch()
	got := run(c)
	same := reflect.DeepEqual(before, c.everything())
	after := c.shown(epoch)

	var e *dibs.Error
	switch {
	case errors.As(got.err, &e):
		mustBeSame(t, same)
		f.WantError(got.err, got.err)
		if e.Reason != "" {
			return cellCodes[e.Code] + "/" + string(e.Reason)
		}
		return cellCodes[e.Code]
	case got.err != nil:
		t.Fatal(got.err)
	case got.answer != "":
		mustBeSame(t, same)
		return got.answer
	case got.replayed:
		mustBeSame(t, same)
		return "replay:" + after
	case same:
		t.Error("it changed nothing, and is not marked as a replay")
	}
	return "ok:" + after
}

func mustBeSame(t *testing.T, same bool) {
	t.Helper()
	if !same {
		t.Error("something changed")
	}
}

// everything returns all that a command could change: the records of the names and entities, and
// the feed.
func (c cell) everything() []any {
	f := c.ann
	f.T.Helper()
	refs := []dibs.Ref{
		{Kind: dibs.KindEntity, ID: dibs.EntityID("", coretest.User1)},
		{Kind: dibs.KindEntity, ID: dibs.EntityID("", coretest.User2)},
		{Kind: dibs.KindEntity, ID: dibs.EntityID("", coretest.User3)},
	}
	entities, err := f.Engine.Load(f.Ctx, refs)
	if err != nil {
		f.T.Fatal(err)
	}
	return []any{entities.Records, f.Dump()}
}

// epoch returns the epoch of x, or 0 if x has no row.
func (c cell) epoch() uint64 {
	n, _ := c.ann.Get(c.ann.Ctx, dibs.Lookup{ID: c.id})
	return n.Epoch
}

// shown describes x as the tables do: its state, its status if it does not follow from the state,
// and by how much its epoch went up.
func (c cell) shown(epoch uint64) string {
	n, err := c.ann.Get(c.ann.Ctx, dibs.Lookup{ID: c.id})
	if err != nil {
		return "none"
	}
	text := string(n.State)
	usual := map[dibs.State]dibs.Status{
		dibs.Held: dibs.StatusReserved, dibs.Suspect: dibs.StatusSuspect,
		dibs.Active: dibs.StatusConfirmed, dibs.Alias: dibs.StatusConfirmed,
	}
	if n.Status != usual[n.State] {
		text += "." + string(n.Status)
	}
	if n.Epoch != epoch {
		text += fmt.Sprintf("+%d", n.Epoch-epoch)
	}
	return text
}

// The matrix is about one name, x. In addition, user/2 has the name y, and user/3 has no name. The
// principal is ann unless the column says otherwise.
const (
	plain    = "plain"   // the default policy
	kept     = "kept"    // quarantines given-up names for an hour
	watched  = "watched" // has a witness that never knows
	brief    = "brief"   // aliases redirect for an hour
	anHour   = time.Hour // of quarantine and retention
	aHold    = dibs.DefaultTTL
	longHold = 2 * aHold // the ttl of Extend
)

func matrixPolicies() map[string]dibs.Policy {
	return map[string]dibs.Policy{
		plain:   {},
		kept:    {Quarantine: anHour},
		brief:   {AliasRetention: anHour},
		watched: {Witness: coretest.AlwaysUnknown},
	}
}

// matrixState is a state of x, and the commands that lead to it.
type matrixState struct {
	name      string
	namespace string
	make      func(f *coretest.Fixture, namespace string)
}

func hold(f *coretest.Fixture, ns string) { f.Must(coretest.Reserve(ns, "x", coretest.Token1)) }
func holdForOne(f *coretest.Fixture, ns string) {
	f.Must(reserveFor(ns, coretest.Token1, coretest.User1))
}

func toLapsed(f *coretest.Fixture, ns string) {
	hold(f, ns)
	f.Clock.Advance(aHold)
}

func toSwept(f *coretest.Fixture, ns string) {
	toLapsed(f, ns)
	f.SweepAll()
}

func toActive(f *coretest.Fixture, ns string) {
	hold(f, ns)
	f.Must(dibs.Confirm{ID: dibs.NameID(ns, "x"), Token: coretest.Token1, Entity: coretest.User1})
}

func toAlias(f *coretest.Fixture, ns string) {
	toActive(f, ns)
	f.Must(coretest.Rename(ns, "x2", coretest.User1))
}

func toGivenUp(f *coretest.Fixture, ns string) {
	toActive(f, ns)
	f.Must(coretest.Decommission(ns, "x", coretest.User1))
}

func toHeldOut(f *coretest.Fixture, ns string) {
	f.Must(coretest.Claim(ns, "x", coretest.User1))
	f.Must(coretest.Decommission(ns, "x", coretest.User1))
	holdForOne(f, ns)
}

// toSpent lets a hold expire, and reserves x with another token.
func toSpent(f *coretest.Fixture, ns string) {
	toLapsed(f, ns)
	f.Must(coretest.Reserve(ns, "x", coretest.Token3))
}

var matrixStates = []matrixState{
	{"absent", plain, func(*coretest.Fixture, string) {}},
	{"released", plain, func(f *coretest.Fixture, ns string) {
		hold(f, ns)
		f.Must(dibs.Release{ID: dibs.NameID(ns, "x"), Token: coretest.Token1})
	}},
	{"expired", plain, toSwept},
	{"held", plain, hold},
	{"held-for", plain, holdForOne},
	{"lapsed", plain, toLapsed},
	{"suspect", watched, toSwept},
	{"suspect-unswept", watched, toLapsed},
	{"active", plain, toActive},
	{"claimed", plain, func(f *coretest.Fixture, ns string) { f.Must(coretest.Claim(ns, "x", coretest.User1)) }},
	{"archived", plain, func(f *coretest.Fixture, ns string) {
		toActive(f, ns)
		f.Must(dibs.Archive{Entity: coretest.User1})
	}},
	{"deleting", plain, func(f *coretest.Fixture, ns string) {
		toActive(f, ns)
		for i := range 32 {
			f.Must(coretest.Claim(fmt.Sprintf("other%d", i), "x", coretest.User1))
		}
		f.Must(dibs.Delete{Entity: coretest.User1})
	}},
	{"alias", plain, toAlias},
	{"alias-over", brief, func(f *coretest.Fixture, ns string) {
		toAlias(f, ns)
		f.Clock.Advance(anHour)
	}},
	{"alias-archived", plain, func(f *coretest.Fixture, ns string) {
		toAlias(f, ns)
		f.Must(dibs.Archive{Entity: coretest.User1})
	}},
	{"given-up", plain, toGivenUp},
	{"quarantined", kept, toGivenUp},
	{"quarantine-over", kept, func(f *coretest.Fixture, ns string) {
		toGivenUp(f, ns)
		f.Clock.Advance(anHour)
	}},
	{"held-out", kept, toHeldOut},
	{"back-in", kept, func(f *coretest.Fixture, ns string) {
		toHeldOut(f, ns)
		f.Must(dibs.Release{ID: dibs.NameID(ns, "x"), Token: coretest.Token1})
	}},
	{"spent", plain, func(f *coretest.Fixture, ns string) {
		toSpent(f, ns)
		f.Must(dibs.Release{ID: dibs.NameID(ns, "x"), Token: coretest.Token3})
	}},
	{"spent-held", plain, toSpent},
}
