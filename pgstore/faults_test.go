package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgerrcode"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/pgproxy"
	"github.com/calldibs/dibs/pgstore"
)

// raceCodes are how a server gives up a transaction in favour of another.
var raceCodes = []string{pgerrcode.SerializationFailure, pgerrcode.DeadlockDetected}

// Whatever statement loses a race, and COMMIT too: the call succeeds, as if nothing had
// been.
func TestALostRaceIsRunAgain(t *testing.T) {
	t.Parallel()
	schema := schemaFor(t)
	for _, name := range scenarioNames {
		for _, code := range raceCodes {
			t.Run(name+"/"+code, func(t *testing.T) {
				t.Parallel()
				r := rigOn(t, schema).open(pgstore.Config{})
				prefix := name + code
				statements := r.statementsOf(r.play(newScenario(name, prefix+"-learn")).groups)
				for at := range len(statements) + 1 { // the last is the commit itself, if it has no statement
					action := pgproxy.FailCommit(code)
					if at < len(statements) {
						action = pgproxy.Fail(at, code)
					}
					s := r.play(newScenario(name, fmt.Sprint(prefix, "-", at)))
					seen := counting(commits, pgproxy.Once(commits, action))
					r.proxy.SetHook(seen.hook)
					r.mustCommit(s.groups...)
					r.judge(s.groups, wantCommitted(s.groups), nil)
					if seen.count() != 2 {
						t.Errorf("statement %d: it took %d transactions, want one that fails and one that does not", at, seen.count())
					}
				}
			})
		}
	}
}

// Who loses every race, or never gets a lock, is Busy: its registry asks again, apart from
// everybody else's. Nothing is half done.
func TestWhoLosesEveryRaceIsBusy(t *testing.T) {
	t.Parallel()
	schema := schemaFor(t)
	for _, name := range scenarioNames {
		for _, code := range append(raceCodes, pgerrcode.LockNotAvailable) {
			for where, action := range map[string]pgproxy.Action{"first": pgproxy.Fail(0, code), "commit": pgproxy.FailCommit(code)} {
				t.Run(name+"/"+code+"/"+where, func(t *testing.T) {
					t.Parallel()
					r := rigOn(t, schema).open(pgstore.Config{})
					groups := r.play(newScenario(name, name+code+where)).groups[:2]
					r.proxy.SetHook(pgproxy.Always(commits, action))
					outcomes, err := r.store.Commit(context.Background(), groups)
					if err != nil || outcomes[0] != dibs.Busy || outcomes[1] != dibs.Busy {
						t.Errorf("the outcomes are %v, %v, want Busy", outcomes, err)
					}
					r.judge(groups, outcomes, err)
				})
			}
		}
	}
}

// An error that no repetition helps against changes nothing, and says so at once.
func TestARefusalChangesNothing(t *testing.T) {
	t.Parallel()
	schema := schemaFor(t)
	for _, name := range scenarioNames {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rigOn(t, schema).open(pgstore.Config{})
			statements := r.statementsOf(r.play(newScenario(name, name+"-learn")).groups)
			for at := range statements {
				s := r.play(newScenario(name, fmt.Sprint(name, at)))
				r.proxy.SetHook(pgproxy.Once(commits, pgproxy.Fail(at, pgerrcode.DiskFull)))
				outcomes, err := r.store.Commit(context.Background(), s.groups)
				if !errors.Is(err, dibs.ErrUnavailable) {
					t.Errorf("statement %d: the error is %v, want UNAVAILABLE", at, err)
				}
				r.judge(s.groups, outcomes, err)
			}
		})
	}
}

func wantCommitted(groups []dibs.Group) []dibs.Outcome {
	outcomes := make([]dibs.Outcome, len(groups))
	for i := range outcomes {
		outcomes[i] = dibs.Committed
	}
	return outcomes
}
