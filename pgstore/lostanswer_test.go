package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/pgproxy"
	"github.com/calldibs/dibs/pgstore"
)

// cut is a way to lose a connection.
type cut struct {
	name   string
	action pgproxy.Action
	done   bool // the transaction is committed
	open   bool // it is still under way, and may be committed or not
}

// cutsOf returns all ways to lose the connection in an exchange of these statements. Of the cuts in
// the middle only the last one lets a COMMIT through, if there is one: then that races with the
// search for the outcome. A statement that is a transaction by itself needs the Sync behind it.
func cutsOf(statements []string) []cut {
	cuts := []cut{{name: "before", action: pgproxy.CutBefore()}, {name: "after", action: pgproxy.CutAfter(), done: true}}
	for n := 1; n <= len(statements); n++ {
		cuts = append(cuts, cut{name: fmt.Sprint("during ", n), action: pgproxy.CutDuring(n), open: statements[n-1] == "COMMIT"})
	}
	return cuts
}

// A commit succeeds wherever its connection is cut, and also if the connection that asks for its
// outcome is cut. A committed transaction is not repeated; any other is made void, and repeated.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	schema := schemaFor(t)
	questions := []struct {
		name   string
		action pgproxy.Action
	}{{"", pgproxy.Pass()}, {"asked again", pgproxy.CutBefore()}, {"answered twice", pgproxy.CutAfter()}}
	if testing.Short() {
		questions = questions[2:] // the others have no further goroutine
	}
	for _, name := range scenarioNames {
		for _, question := range questions {
			t.Run(name+"/"+question.name, func(t *testing.T) {
				t.Parallel()
				r := rigOn(t, schema).open(pgstore.Config{})
				prefix := name + question.name
				for _, cut := range cutsOf(r.statementsOf(r.play(newScenario(name, prefix)).groups)) {
					s := r.play(newScenario(name, prefix+cut.name))
					tries := counting(commits, pgproxy.Once(commits, cut.action))
					asked := counting(asksOutcome, pgproxy.Once(asksOutcome, question.action))
					r.proxy.SetHook(func(x *pgproxy.Exchange) pgproxy.Action {
						if asksOutcome(x) {
							return asked.hook(x)
						}
						return tries.hook(x)
					})
					outcomes, err := r.store.Commit(context.Background(), s.groups)
					if err != nil {
						t.Errorf("cut %s: %v", cut.name, err)
						continue
					}
					r.compare(s.groups, outcomes, nil)
					if once := tries.count() == 1; once != cut.done && !cut.open {
						t.Errorf("cut %s: %d transactions; first one committed: %v", cut.name, tries.count(), cut.done)
					}
					if asked.count() == 0 {
						t.Errorf("cut %s: the store did not ask for the outcome", cut.name)
					}
				}
			})
		}
	}
}

// A new store sets up connections and prepares statements. A Commit succeeds whichever of these
// exchanges is cut.
func TestAnyExchangeOfACommitCut(t *testing.T) {
	t.Parallel()
	schema := schemaFor(t)
	for _, name := range scenarioNames {
		for _, cut := range cutsOf(nil) {
			t.Run(name+"/"+cut.name, func(t *testing.T) {
				t.Parallel()
				aside := rigOn(t, schema).open(pgstore.Config{})
				k, reached := 0, true
				for ; reached; k++ {
					r := rigOn(t, schema).open(pgstore.Config{})
					s := aside.play(newScenario(name, fmt.Sprint(name, cut.name, k)))
					r.proxy.CutAll() // the store must set up a new connection
					seen := counting(everything, pgproxy.Nth(k+1, everything, cut.action))
					r.proxy.SetHook(seen.hook)
					outcomes, err := r.store.Commit(context.Background(), s.groups)
					reached = seen.count() > k
					if err != nil {
						t.Fatalf("exchange %d: %v", k, err)
					}
					r.compare(s.groups, outcomes, nil)
				}
				t.Logf("cut each of %d exchanges", k)
			})
		}
	}
}

// While the database is out of reach, the outcome of a commit is unknown. The same command with the
// same token finds it out.
func TestOutcomeUnknown(t *testing.T) {
	t.Parallel()
	schema := schemaFor(t)
	// The first name creates the namespace record, which would make concurrent commits stale.
	first := rigOn(t, schema).open(pgstore.Config{})
	if _, err := first.registry(first.store, dibs.Config{}).Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "first"}); err != nil {
		t.Fatal(err)
	}
	for _, cut := range cutsOf(nil) {
		t.Run(cut.name, func(t *testing.T) {
			t.Parallel()
			r := rigOn(t, schema).open(pgstore.Config{Timeout: 500 * time.Millisecond})
			impatient, patient := r.registry(r.store, dibs.Config{}), r.registry(r.aside(pgstore.Config{}), dibs.Config{})
			hold := dibs.Reserve{Namespace: "slug", Value: cut.name, Token: dibs.NewToken()}
			id := dibs.NameID("slug", cut.name)
			owner := dibs.Entity{Type: "user", ID: cut.name}
			for _, command := range []dibs.Command{
				hold,
				dibs.Confirm{ID: id, Token: hold.Token, Entity: owner},
				dibs.Rename{Namespace: "slug", Entity: owner, Value: cut.name + "-2"},
				dibs.Delete{Entity: owner},
			} {
				// On a slow machine the timeout may end before the commit is sent.
				err := dibs.ErrUnavailable
				for errors.Is(err, dibs.ErrUnavailable) {
					r.proxy.SetHook(blackout(r.proxy, cut.action))
					_, err = impatient.Apply(context.Background(), command)
					r.calm()
				}
				if !errors.Is(err, dibs.ErrOutcomeUnknown) {
					t.Fatalf("%T: %v, want OUTCOME_UNKNOWN", command, err)
				}
				results, err := patient.Apply(context.Background(), command)
				if err != nil {
					t.Fatalf("%T, again: %v", command, err)
				}
				if results[0].Replayed != cut.done {
					t.Errorf("%T, again: replayed %v, want %v", command, results[0].Replayed, cut.done)
				}
			}
			if revs := ask[[]int64](r, "SELECT array_agg(rev ORDER BY rev) FROM "+r.table("dibs_feed")+
				" WHERE name = (SELECT id FROM "+r.table("dibs_names")+" WHERE canonical = $1)", cut.name); len(revs) != 4 {
				t.Errorf("the history has the revisions %v, want each step once", revs)
			}
		})
	}
}

// blackout applies an action to the first commit, and puts the database out of reach from then on.
func blackout(p *pgproxy.Proxy, first pgproxy.Action) pgproxy.Hook {
	begin := pgproxy.Once(commits, first)
	dark := make(chan struct{}, 1)
	return func(x *pgproxy.Exchange) pgproxy.Action {
		select {
		case <-dark:
			dark <- struct{}{}
			return pgproxy.CutBefore()
		default:
		}
		if commits(x) {
			p.Refuse(true)
			dark <- struct{}{}
			return begin(x)
		}
		return pgproxy.Pass()
	}
}

// If nothing was sent, the error is UNAVAILABLE.
func TestOutOfReach(t *testing.T) {
	t.Parallel()
	r := newRig(t).open(pgstore.Config{Timeout: 2 * time.Second})
	r.proxy.Refuse(true)
	r.proxy.CutAll()
	r.proxy.AwaitServer()
	groups := []dibs.Group{reserving("a")}
	outcomes, err := r.store.Commit(context.Background(), groups)
	if err == nil {
		t.Error("a commit succeeded without a server")
	}
	if _, err := r.store.Load(context.Background(), nil); !errors.Is(err, dibs.ErrUnavailable) {
		t.Errorf("Load's error is %v, want UNAVAILABLE", err)
	}
	r.compare(groups, outcomes, err)
	r.mustCommit(groups...)
}
