package sqlitestore

import (
	"context"
	"database/sql/driver"
	"reflect"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
)

// feed reads events, and removes the cursors for comparison.
func feed(t *testing.T, s dibs.Store, query dibs.EventQuery) []dibs.Event {
	t.Helper()
	query.Limit = 100
	found, err := s.Events(context.Background(), query)
	if err != nil {
		t.Fatal(err)
	}
	for i := range found {
		found[i].Cursor = ""
	}
	return found
}

// Events of names share columns with the row of the name; events of an entity, or of a name without a
// row, have their own. All are read as they were committed.
func TestEventsComeBackAsCommitted(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	a, b, stray := heldName("a"), heldName("b"), heldName("stray")
	a.Value = "A"
	aboutEntity := dibs.Event{Kind: dibs.EventArchived, At: testNow, Scope: "acme", Entity: dibs.Entity{Type: "user", ID: "1"}, Version: 2}
	mustCommit(t, s, insertGroup(a), insertGroup(b))
	mustCommit(t, s, dibs.Group{Events: []dibs.Event{aboutEntity, eventOf(dibs.EventReserved, stray)}})
	ofA, ofB, ofStray := eventOf(dibs.EventReserved, a), eventOf(dibs.EventReserved, b), eventOf(dibs.EventReserved, stray)
	for name, c := range map[string]struct {
		query dibs.EventQuery
		want  []dibs.Event
	}{
		"all":     {dibs.EventQuery{}, []dibs.Event{ofA, ofB, aboutEntity, ofStray}},
		"after":   {dibs.EventQuery{After: "1"}, []dibs.Event{ofB, aboutEntity, ofStray}},
		"name":    {dibs.EventQuery{Name: a.ID}, []dibs.Event{ofA}},
		"no row":  {dibs.EventQuery{Name: stray.ID}, []dibs.Event{ofStray}},
		"neither": {dibs.EventQuery{Name: dibs.NameID("acme.slug", "never")}, nil},
	} {
		if got := feed(t, s, c.query); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got\n%+v\nwant\n%+v", name, got, c.want)
		}
	}

	mustCommit(t, s, dibs.Group{
		Reads:  []dibs.Read{{Ref: a.Ref(), Rev: 1}, {Ref: stray.Ref()}},
		Writes: []dibs.Write{{Record: a, Delete: true}, {Record: stray, Delete: true}},
	})
	if got := feed(t, s, dibs.EventQuery{}); !reflect.DeepEqual(got, []dibs.Event{ofB, aboutEntity}) {
		t.Errorf("after deleting: %+v", got)
	}
	if got := mustLoad(t, s, a.Ref()); len(got) != 0 {
		t.Error("the name still exists")
	}
}

// Statements that run often must find their rows by an index.
func TestNoScans(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	for _, st := range []*statement{
		names.load[3], names.revs[8], names.remove[3], entities.load[3], documents.load[3],
		deactivate[1], deleteEvents[3], deleteLooseEvents[3], selectDue, selectOwned, selectHistory,
	} {
		count := strings.Count(st.text(), "?")
		err := s.read(context.Background(), func(run runner) error {
			explain := newStatement("EXPLAIN QUERY PLAN " + st.text())
			return run.query(context.Background(), explain, make([]any, count), func(row []driver.Value) error {
				step := asText(row[3])
				if strings.HasPrefix(step, "SCAN dibs_") || strings.HasPrefix(step, "SCAN e") || strings.HasPrefix(step, "SCAN n") {
					t.Errorf("%s\n%s", step, st.text())
				}
				return nil
			})
		})
		if err != nil {
			t.Errorf("%v\n%s", err, st.text())
		}
	}
}

// A page begins where the previous one ended. With two lower bounds SQLite would start at the
// lower one, and each page would read all earlier ones again.
func TestPagesResumeByTheIndex(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	after := &dibs.ListPosition{Namespace: "slug", Label: "m"}
	for name, query := range map[string]dibs.ListQuery{
		"namespace":           {Kind: dibs.KindName, Namespace: "slug", After: after, Limit: 10},
		"prefix":              {Kind: dibs.KindName, Namespace: "slug", From: "l", To: "n", After: after, Limit: 10},
		"all":                 {Kind: dibs.KindName, After: after, Limit: 10},
		"documents":           {Kind: dibs.KindTally, After: after, Limit: 10},
		"documents in a span": {Kind: dibs.KindTally, From: "l", To: "n", After: after, Limit: 10},
	} {
		text, args := listing{ListQuery: query}.sql(false)
		var plan []string
		err := s.read(context.Background(), func(run runner) error {
			return run.query(context.Background(), newStatement("EXPLAIN QUERY PLAN "+text), args, func(row []driver.Value) error {
				plan = append(plan, asText(row[3]))
				return nil
			})
		})
		if err != nil || len(plan) != 1 || !strings.Contains(plan[0], ">") || strings.Count(text, " > ")+strings.Count(text, " >= ") != 1 {
			t.Errorf("%s: %v, %q\n%s", name, err, plan, text)
		}
	}
}
