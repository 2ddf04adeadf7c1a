package pgstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// race is a command that waits for another open transaction.
type race struct {
	name   string
	before func(t *testing.T, reg *dibs.Registry, namespace string) dibs.Hold
	theirs func(namespace string, hold dibs.Hold) dibs.Command
	ours   func(namespace string, hold dibs.Hold) dibs.Command
	want   error // once theirs is committed
}

var races = []race{
	{
		name: "name",
		theirs: func(namespace string, _ dibs.Hold) dibs.Command {
			return dibs.Claim{Namespace: namespace, Value: "spring", Entity: numbered(102)}
		},
		ours: func(namespace string, _ dibs.Hold) dibs.Command {
			return dibs.Claim{Namespace: namespace, Value: "spring", Entity: product}
		},
		want: dibs.ErrNameTaken,
	},
	{
		name: "hold",
		before: func(t *testing.T, reg *dibs.Registry, namespace string) dibs.Hold {
			return must[dibs.Hold](t)(reg.Reserve(t.Context(), dibs.Reserve{Namespace: namespace, Value: "spring"}))
		},
		theirs: func(_ string, h dibs.Hold) dibs.Command { return dibs.Release{ID: h.ID, Token: h.Token} },
		ours: func(_ string, h dibs.Hold) dibs.Command {
			return dibs.Confirm{ID: h.ID, Token: h.Token, Entity: product}
		},
		want: dibs.ErrAlreadyReleased,
	},
	{
		name: "new-entity",
		theirs: func(namespace string, _ dibs.Hold) dibs.Command {
			return dibs.Claim{Namespace: namespace, Value: "summer", Entity: product}
		},
		ours: func(namespace string, _ dibs.Hold) dibs.Command {
			return dibs.Claim{Namespace: namespace, Value: "spring", Entity: product}
		},
		want: dibs.ErrEntityHasName,
	},
	{
		name: "entity",
		before: func(t *testing.T, reg *dibs.Registry, namespace string) (none dibs.Hold) {
			must[dibs.Name](t)(reg.Claim(t.Context(), dibs.Claim{Namespace: namespace, Value: "winter", Entity: product}))
			return none
		},
		theirs: func(namespace string, _ dibs.Hold) dibs.Command {
			return dibs.Rename{Namespace: namespace, Entity: product, Value: "summer"}
		},
		ours: func(namespace string, _ dibs.Hold) dibs.Command {
			return dibs.Rename{Namespace: namespace, Entity: product, Value: "spring", IfVersion: 1}
		},
		want: dibs.ErrVersionMismatch,
	},
}

// run makes ours wait for theirs, and ends theirs by end. Each race has its own scope, with its own
// names and entities.
func (r race) run(t *testing.T, s *shop, level string, end func(*callersTx) error) (tx *callersTx, again func(*dibs.Registry) error, err error) {
	t.Helper()
	ctx, namespace := context.WithoutCancel(t.Context()), r.name+"-"+strings.ReplaceAll(level, " ", "-")+".slug"
	must[dibs.Name](t)(s.reg.Claim(ctx, dibs.Claim{Namespace: namespace, Value: "first", Entity: numbered(1)}))
	var hold dibs.Hold
	if r.before != nil {
		hold = r.before(t, s.reg, namespace)
	}
	tx, bound := s.tx(t, level)
	s.insert(t, tx, "before "+namespace) // takes the snapshot of the higher levels
	other, theirs := s.tx(t, "")
	must[[]dibs.Result](t)(theirs.Apply(ctx, r.theirs(namespace, hold)))
	apply := func(reg *dibs.Registry) error {
		_, err := reg.Apply(ctx, r.ours(namespace, hold))
		return err
	}
	answer := make(chan error)
	go func() { answer <- apply(bound) }()
	s.awaitLockWait(t)
	if err := end(other); err != nil {
		t.Fatal(err)
	}
	return tx, apply, <-answer
}

func committed(other *callersTx) error  { return other.commit() }
func rolledBack(other *callersTx) error { return other.rollback() }

func TestLostRaceAtReadCommitted(t *testing.T) {
	bothWays(t, dibs.Config{}, func(t *testing.T, s *shop) {
		for _, r := range races {
			tx, _, err := r.run(t, s, "read committed", committed)
			if !errors.Is(err, r.want) || errors.Is(err, dibs.ErrRetryTx) {
				t.Errorf("%s: %v, want %v", r.name, err, r.want)
			}
			s.insert(t, tx, r.name)
			s.commit(t, tx)
			if s.rows(t, r.name) != 1 {
				t.Errorf("%s: the row of the program is missing", r.name)
			}
		}
	})
}

func TestRaceIsWonAfterARollback(t *testing.T) {
	bothWays(t, dibs.Config{}, func(t *testing.T, s *shop) {
		for _, r := range races {
			for _, level := range levels {
				tx, _, err := r.run(t, s, level, rolledBack)
				if err != nil {
					t.Fatalf("%s, %s: %v", level, r.name, err)
				}
				s.commit(t, tx)
			}
		}
	})
}

func TestLostRaceAtHigherLevels(t *testing.T) {
	bothWays(t, dibs.Config{}, func(t *testing.T, s *shop) {
		for _, level := range []string{"repeatable read", "serializable"} {
			for _, r := range races {
				tx, again, err := r.run(t, s, level, committed)
				if !errors.Is(err, dibs.ErrRetryTx) || !errors.Is(err, dibs.ErrUnavailable) {
					t.Fatalf("%s, %s: %v, want ErrRetryTx", level, r.name, err)
				}
				if err := tx.rollback(); err != nil {
					t.Fatal(err)
				}
				// Run the whole transaction again.
				tx, bound := s.tx(t, level)
				if err := again(bound); !errors.Is(err, r.want) {
					t.Errorf("%s, %s: the second time %v, want %v", level, r.name, err, r.want)
				}
				s.insert(t, tx, level+r.name)
				s.commit(t, tx)
			}
		}
	})
}

func TestDeadlock(t *testing.T) {
	bothWays(t, dibs.Config{}, func(t *testing.T, s *shop) {
		ctx := context.WithoutCancel(t.Context())
		values := []string{"spring", "summer"}
		var txs [2]*callersTx
		var bound [2]*dibs.Registry
		for i := range txs {
			txs[i], bound[i] = s.tx(t, "")
			if err := txs[i].exec(ctx, "SET LOCAL deadlock_timeout = '20ms'"); err != nil {
				t.Fatal(err)
			}
			must[dibs.Name](t)(bound[i].Claim(ctx, claim(values[i], numbered(200+i))))
		}
		answers := [2]chan error{make(chan error, 1), make(chan error, 1)}
		for i := range txs {
			go func() {
				_, err := bound[i].Claim(ctx, claim(values[1-i], numbered(300+i)))
				if err != nil {
					err = errors.Join(err, txs[i].rollback()) // frees the other one
				}
				answers[i] <- err
			}()
		}
		// Each has what the other wants. One fails, and the other gets both.
		lost := 0
		for i := range txs {
			err := <-answers[i]
			switch {
			case errors.Is(err, dibs.ErrRetryTx):
				lost++
			case err != nil:
				t.Errorf("got %v", err)
			default:
				s.commit(t, txs[i])
			}
		}
		if lost != 1 {
			t.Errorf("%d got ErrRetryTx, want 1", lost)
		}
		for _, value := range values {
			if got := coretest.StateOf(t, s.reg, value); got != dibs.Active {
				t.Errorf("%s is %s", value, got)
			}
		}
	})
}
