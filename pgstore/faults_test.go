package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgerrcode"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/pgproxy"
	"github.com/calldibs/dibs/pgstore"
)

// raceCodes are the errors of a transaction that lost a race.
var raceCodes = []string{pgerrcode.SerializationFailure, pgerrcode.DeadlockDetected}

// A Commit succeeds whichever statement loses a race, including COMMIT.
func TestLostRaceIsRetried(t *testing.T) {
	t.Parallel()
	schema, codes := schemaFor(t), raceCodes
	if testing.Short() {
		codes = codes[:1] // the store does not distinguish them
	}
	for _, name := range scenarioNames {
		for _, code := range codes {
			t.Run(name+"/"+code, func(t *testing.T) {
				t.Parallel()
				r := rigOn(t, schema).open(pgstore.Config{LockWait: 10 * time.Second})
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
					r.compare(s.groups, wantCommitted(s.groups), nil)
					if seen.count() != 2 {
						t.Errorf("statement %d: %d transactions, want one that fails and one that succeeds", at, seen.count())
					}
				}
			})
		}
	}
}

// A group that loses every race, or never gets a lock, is Busy. It changes nothing.
func TestEveryRaceLost(t *testing.T) {
	t.Parallel()
	schema := schemaFor(t)
	for _, name := range scenarioNames {
		for fault, action := range map[string]pgproxy.Action{
			"serialization failure":           pgproxy.Fail(0, pgerrcode.SerializationFailure),
			"serialization failure of COMMIT": pgproxy.FailCommit(pgerrcode.SerializationFailure),
			"deadlock":                        pgproxy.Fail(0, pgerrcode.DeadlockDetected),
			"deadlock of COMMIT":              pgproxy.FailCommit(pgerrcode.DeadlockDetected),
			"lock timeout":                    pgproxy.Fail(0, pgerrcode.LockNotAvailable),
			"lock timeout of COMMIT":          pgproxy.FailCommit(pgerrcode.LockNotAvailable),
		} {
			t.Run(name+"/"+fault, func(t *testing.T) {
				t.Parallel()
				r := rigOn(t, schema).open(pgstore.Config{})
				groups := r.play(newScenario(name, name+fault)).groups[:2]
				r.proxy.SetHook(pgproxy.Always(commits, action))
				outcomes, err := r.store.Commit(context.Background(), groups)
				if err != nil || outcomes[0] != dibs.Busy || outcomes[1] != dibs.Busy {
					t.Errorf("outcomes %v, %v, want Busy", outcomes, err)
				}
				r.compare(groups, outcomes, err)
			})
		}
	}
}

// An error that cannot be retried fails at once, and changes nothing.
func TestPermanentError(t *testing.T) {
	sequential(t)
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
					t.Errorf("statement %d: %v, want UNAVAILABLE", at, err)
				}
				r.compare(s.groups, outcomes, err)
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
