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

// cutsOf are all ways to lose the connection in an exchange of these statements. Of those
// that cut it in the middle only the last lets a COMMIT through, if there is one: then it
// is a race between that and the settlement. A statement that is a transaction by itself
// needs the Sync behind it.
func cutsOf(statements []string) []cut {
	cuts := []cut{{name: "before", action: pgproxy.CutBefore()}, {name: "after", action: pgproxy.CutAfter(), done: true}}
	for n := 1; n <= len(statements); n++ {
		cuts = append(cuts, cut{name: fmt.Sprint("during ", n), action: pgproxy.CutDuring(n), open: statements[n-1] == "COMMIT"})
	}
	return cuts
}

// Wherever the connection of a commit is cut, and that of the settlement too: the call
// succeeds. What happened is found out and not done again; what did not is made impossible,
// and then done.
func TestALostAnswerIsSettled(t *testing.T) {
	t.Parallel()
	schema := schemaFor(t)
	settlements := []struct {
		name   string
		action pgproxy.Action
	}{{"", pgproxy.Pass()}, {"settled at the second try", pgproxy.CutBefore()}, {"settled twice", pgproxy.CutAfter()}}
	for _, name := range scenarioNames {
		for _, settlement := range settlements {
			t.Run(name+"/"+settlement.name, func(t *testing.T) {
				t.Parallel()
				r := rigOn(t, schema).open(pgstore.Config{})
				prefix := name + settlement.name
				for _, cut := range cutsOf(r.statementsOf(r.play(newScenario(name, prefix)).groups)) {
					s := r.play(newScenario(name, prefix+cut.name))
					tries := counting(commits, pgproxy.Once(commits, cut.action))
					looks := counting(settles, pgproxy.Once(settles, settlement.action))
					r.proxy.SetHook(func(x *pgproxy.Exchange) pgproxy.Action {
						if settles(x) {
							return looks.hook(x)
						}
						return tries.hook(x)
					})
					outcomes, err := r.store.Commit(context.Background(), s.groups)
					if err != nil {
						t.Errorf("cut %s: %v", cut.name, err)
						continue
					}
					r.judge(s.groups, outcomes, nil)
					if once := tries.count() == 1; once != cut.done && !cut.open {
						t.Errorf("cut %s: it took %d transactions, that the first was committed is %v", cut.name, tries.count(), cut.done)
					}
					if looks.count() == 0 {
						t.Errorf("cut %s: nobody looked up what became of it", cut.name)
					}
				}
			})
		}
	}
}

// A store that has just been opened prepares its statements, on connections that it has to
// set up: whichever of these exchanges is cut, a Commit succeeds.
func TestAnyExchangeOfACommitMayBeCut(t *testing.T) {
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
					r.proxy.CutAll() // a new connection has to be set up
					seen := counting(everything, pgproxy.Nth(k+1, everything, cut.action))
					r.proxy.SetHook(seen.hook)
					outcomes, err := r.store.Commit(context.Background(), s.groups)
					reached = seen.count() > k
					if err != nil {
						t.Fatalf("exchange %d: %v", k, err)
					}
					r.judge(s.groups, outcomes, nil)
				}
				t.Logf("cut each of %d exchanges", k)
			})
		}
	}
}

// While nobody can be asked what became of a commit, nobody knows. The same command with
// the same token finds out.
func TestWhatCannotBeSettledIsUnknown(t *testing.T) {
	t.Parallel()
	schema := schemaFor(t)
	// The first name begins its namespace. Who does so at the same time is decided again,
	// and then it is not the first commit that counts.
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
				// On a busy machine its time may be over before it gets as far as to commit.
				err := dibs.ErrUnavailable
				for errors.Is(err, dibs.ErrUnavailable) {
					r.proxy.SetHook(blackout(r.proxy, cut.action))
					_, err = impatient.Apply(context.Background(), command)
					r.calm()
				}
				if !errors.Is(err, dibs.ErrOutcomeUnknown) {
					t.Fatalf("%T: the error is %v, want OUTCOME_UNKNOWN", command, err)
				}
				results, err := patient.Apply(context.Background(), command)
				if err != nil {
					t.Fatalf("%T, again: %v", command, err)
				}
				if results[0].Replayed != cut.done {
					t.Errorf("%T, again: that it was replayed is %v, want %v", command, results[0].Replayed, cut.done)
				}
			}
			if revs := ask[[]int64](r, "SELECT array_agg(rev ORDER BY rev) FROM "+r.table("dibs_events")+
				" WHERE name = (SELECT id FROM "+r.table("dibs_names")+" WHERE canonical = $1)", cut.name); len(revs) != 4 {
				t.Errorf("the name's history has the revisions %v, want each step once", revs)
			}
		})
	}
}

// blackout does something to the first commit, and from then on the database is out of
// reach.
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

// A server out of reach changes nothing, which is known: nothing was sent.
func TestOutOfReachIsUnavailable(t *testing.T) {
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
	r.judge(groups, outcomes, err)
	r.mustCommit(groups...)
}
