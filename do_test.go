package dibs_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

var aliceBob = dibs.Reserve{Namespace: "slug", Value: "alice-bob", TTL: dibs.For(coretest.Minute)}

func TestDoConfirmsWhatFnReturns(t *testing.T) {
	t.Parallel()
	reg := coretest.OpenMem(t, dibs.Config{})
	name, err := reg.Do(t.Context(), aliceBob, func(_ context.Context, hold dibs.Hold) (dibs.Entity, error) {
		if hold.State != dibs.Held || hold.Token == "" {
			t.Errorf("fn was given %+v", hold)
		}
		return coretest.Wedding, nil
	})
	if err != nil || name.State != dibs.Active || name.Entity != coretest.Wedding {
		t.Fatalf("Do = %+v, %v", name, err)
	}
}

func TestDoExtendsWhileFnRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := coretest.OpenMem(t, dibs.Config{})
		name, err := reg.Do(t.Context(), aliceBob, func(ctx context.Context, hold dibs.Hold) (dibs.Entity, error) {
			time.Sleep(10 * coretest.Minute) // in the bubble: a payment that takes its time
			if got := coretest.StateOf(t, reg, "alice-bob"); got != dibs.Held {
				t.Errorf("after ten minutes of a hold of one the name is %s", got)
			}
			return coretest.Wedding, ctx.Err()
		})
		if err != nil || name.State != dibs.Active {
			t.Fatalf("Do = %+v, %v", name, err)
		}
	})
}

func TestDoReleasesAfterAPlainError(t *testing.T) {
	t.Parallel()
	reg := coretest.OpenMem(t, dibs.Config{})
	declined := errors.New("card declined")
	ctx, cancel := context.WithCancel(t.Context())
	_, err := reg.Do(ctx, aliceBob, func(context.Context, dibs.Hold) (dibs.Entity, error) {
		cancel() // a caller that has gone must not keep the name blocked
		return dibs.Entity{}, declined
	})
	if !errors.Is(err, declined) {
		t.Fatalf("Do = %v, want fn's own error", err)
	}
	if got := coretest.StateOf(t, reg, "alice-bob"); got != dibs.Free {
		t.Fatalf("the name is %s after a plain error", got)
	}
}

func TestDoLeavesTheHoldWhenNobodyKnows(t *testing.T) {
	t.Parallel()
	lost := errors.New("connection reset")
	for name, result := range map[string]error{
		"unsure":   dibs.Unsure(lost),
		"canceled": context.Canceled,
		"deadline": context.DeadlineExceeded,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg := coretest.OpenMem(t, dibs.Config{})
			_, err := reg.Do(t.Context(), aliceBob, func(context.Context, dibs.Hold) (dibs.Entity, error) {
				return coretest.Wedding, result
			})
			var left *dibs.DoError
			if !errors.As(err, &left) || !errors.Is(err, errors.Unwrap(result)) && !errors.Is(err, result) {
				t.Fatalf("Do = %v, want a DoError around %v", err, result)
			}
			if got := coretest.StateOf(t, reg, "alice-bob"); got != dibs.Held {
				t.Fatalf("the name is %s, it should be left held", got)
			}
			// Whoever finds out later can use the hold.
			hold := left.Holds[0]
			if _, err := reg.Confirm(t.Context(), dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: coretest.Wedding}); err != nil {
				t.Fatalf("Confirm with what the error carries: %v", err)
			}
		})
	}
}

func TestDoLeavesTheHoldWhenFnPanics(t *testing.T) {
	t.Parallel()
	reg := coretest.OpenMem(t, dibs.Config{})
	func() {
		defer func() {
			if p := recover(); p != "boom" {
				t.Errorf("the panic became %v", p)
			}
		}()
		_, _ = reg.Do(t.Context(), aliceBob, func(context.Context, dibs.Hold) (dibs.Entity, error) { panic("boom") })
	}()
	if got := coretest.StateOf(t, reg, "alice-bob"); got != dibs.Held {
		t.Fatalf("the name is %s, it should be left held", got)
	}
}

func TestDoConfirmsAgainWhileTheEngineFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := coretest.NewGatedStore()
		reg := coretest.MustOpen(t, store, dibs.Config{})
		name, err := reg.Do(t.Context(), aliceBob, func(context.Context, dibs.Hold) (dibs.Entity, error) {
			failures := 0
			store.Gate(func(commit func() ([]dibs.Outcome, error)) ([]dibs.Outcome, error) {
				switch failures++; failures {
				case 1:
					return nil, dibs.Unavailable(errors.New("connection refused"))
				case 2: // it happens, but the answer is lost
					_, _ = commit()
					return nil, dibs.OutcomeUnknown(errors.New("connection reset"))
				default:
					return commit()
				}
			})
			return coretest.Wedding, nil
		})
		if err != nil || name.State != dibs.Active || name.Entity != coretest.Wedding {
			t.Fatalf("Do = %+v, %v", name, err)
		}
	})
}

func TestDoReportsTheHoldWhenTheEngineStaysAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := coretest.NewGatedStore()
		reg := coretest.MustOpen(t, store, dibs.Config{Policies: map[string]dibs.Policy{
			"slug": {Witness: func(context.Context, dibs.SuspectHold) (dibs.Verdict, error) {
				return dibs.Exists(coretest.Wedding), nil
			}},
		}})
		start := time.Now()
		_, err := reg.Do(t.Context(), aliceBob, func(context.Context, dibs.Hold) (dibs.Entity, error) {
			store.Gate(func(func() ([]dibs.Outcome, error)) ([]dibs.Outcome, error) {
				return nil, dibs.Unavailable(errors.New("connection refused"))
			})
			return coretest.Wedding, nil
		})
		var left *dibs.DoError
		if !errors.As(err, &left) || left.Entity != coretest.Wedding || !errors.Is(err, dibs.ErrUnavailable) {
			t.Fatalf("Do = %v, want a DoError that names the entity", err)
		}
		if took := time.Since(start); took < coretest.Minute {
			t.Errorf("Do gave up after %v, the hold lasted a minute", took)
		}
		store.Gate(nil)
		// The witness knows: the entity exists, so the name becomes its own.
		if _, err := reg.Sweep(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		if got := coretest.StateOf(t, reg, "alice-bob"); got != dibs.Active {
			t.Fatalf("the name is %s after the witness spoke", got)
		}
	})
}

func TestDoEndsFnsContextWhenTheHoldIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := coretest.OpenMem(t, dibs.Config{})
		_, err := reg.Do(t.Context(), aliceBob, func(ctx context.Context, hold dibs.Hold) (dibs.Entity, error) {
			if _, err := reg.Release(ctx, dibs.Release{ID: hold.ID, Token: hold.Token}); err != nil {
				t.Error(err)
			}
			<-ctx.Done()
			return dibs.Entity{}, context.Cause(ctx)
		})
		if !errors.Is(err, dibs.ErrAlreadyReleased) {
			t.Fatalf("Do = %v, want the cause that ended fn", err)
		}
	})
}

func TestDoStopsExtendingAtMaxHold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := coretest.OpenMem(t, dibs.Config{Default: dibs.Policy{MaxHold: 5 * coretest.Minute}})
		_, err := reg.Do(t.Context(), aliceBob, func(ctx context.Context, _ dibs.Hold) (dibs.Entity, error) {
			<-ctx.Done()
			return coretest.Wedding, nil // it did not listen, and saved all the same
		})
		var left *dibs.DoError
		if !errors.As(err, &left) || !errors.Is(err, dibs.ErrAlreadyExpired) {
			t.Fatalf("Do = %v, want ALREADY_EXPIRED with the hold", err)
		}
		if got := coretest.StateOf(t, reg, "alice-bob"); got != dibs.Free {
			t.Fatalf("the name is %s after its longest time", got)
		}
	})
}

func TestDoAllConfirmsAllOrNone(t *testing.T) {
	t.Parallel()
	reg := coretest.OpenMem(t, dibs.Config{})
	ctx := t.Context()
	account := dibs.Entity{Type: "account", ID: "7"}
	names, err := reg.DoAll(ctx, dibs.ReserveAll{Reservations: []dibs.Reserve{
		{Namespace: "email", Value: "alice@example.com"},
		{Namespace: "username", Value: "alice"},
	}}, func(context.Context, []dibs.Hold) (dibs.Entity, error) { return account, nil })
	if err != nil || len(names) != 2 || names[0].Entity != account || names[1].Entity != account {
		t.Fatalf("DoAll = %+v, %v", names, err)
	}

	ran := false
	_, err = reg.DoAll(ctx, dibs.ReserveAll{Reservations: []dibs.Reserve{
		{Namespace: "email", Value: "bob@example.com"},
		{Namespace: "username", Value: "alice"},
	}}, func(context.Context, []dibs.Hold) (dibs.Entity, error) { ran = true; return account, nil })
	if !errors.Is(err, dibs.ErrNameTaken) || ran {
		t.Fatalf("DoAll = %v, fn ran: %v; want NAME_TAKEN before fn", err, ran)
	}
	if taken, err := reg.IsReserved(ctx, "email", "bob@example.com"); err != nil || taken {
		t.Fatalf("the other name is reserved: %v, %v", taken, err)
	}
}

func TestDoRefusedNamesTheOneName(t *testing.T) {
	t.Parallel()
	reg := coretest.OpenMem(t, dibs.Config{})
	coretest.MustReserve(t, reg, "alice-bob")
	_, err := reg.Do(t.Context(), aliceBob, func(context.Context, dibs.Hold) (dibs.Entity, error) {
		t.Error("fn ran without the name")
		return coretest.Wedding, nil
	})
	var refused *dibs.Error
	if !errors.As(err, &refused) || refused.Reason != dibs.ReasonHeld || len(refused.Failures) != 0 || len(refused.Suggestions) == 0 {
		t.Fatalf("Do = %+v, want the plain refusal of the one name", err)
	}
}

// fn must not go on as if it had the name when the hold is over, also where the engine
// cannot be asked.
func TestDoEndsFnsContextWhenTheEngineIsAway(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(store *coretest.GatedStore) func(){
		"refuses": func(store *coretest.GatedStore) func() {
			store.Gate(func(func() ([]dibs.Outcome, error)) ([]dibs.Outcome, error) {
				return nil, dibs.Unavailable(errors.New("no route to host"))
			})
			return func() { store.Gate(nil) }
		},
		"hangs": coretest.Block,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := coretest.NewGatedStore()
				reg := coretest.MustOpen(t, store, dibs.Config{})
				start := time.Now()
				var took time.Duration
				_, err := reg.Do(t.Context(), aliceBob, func(ctx context.Context, _ dibs.Hold) (dibs.Entity, error) {
					mend := fail(store)
					<-ctx.Done()
					took = time.Since(start)
					mend()
					return dibs.Entity{}, ctx.Err()
				})
				if _, ok := errors.AsType[*dibs.DoError](err); !ok {
					t.Fatalf("Do = %v", err)
				}
				if took < 50*time.Second || took > coretest.Minute {
					t.Errorf("fn's context ended after %v, the hold lasted a minute", took)
				}
			})
		})
	}
}

// A hold that cannot be extended any further does not keep the others from it.
func TestDoAllExtendsEachHoldOnItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := coretest.OpenMem(t, dibs.Config{Policies: map[string]dibs.Policy{"slug": {MaxTTL: 20 * coretest.Minute, MaxHold: 20 * coretest.Minute}}})
		names, err := reg.DoAll(t.Context(), dibs.ReserveAll{Reservations: []dibs.Reserve{
			{Namespace: "slug", Value: "alice", TTL: dibs.For(20 * coretest.Minute)},
			{Namespace: "email", Value: "alice@example.com", TTL: dibs.For(coretest.Minute)},
		}}, func(ctx context.Context, holds []dibs.Hold) (dibs.Entity, error) {
			slices.Reverse(holds) // they are fn's own
			time.Sleep(10 * coretest.Minute)
			return coretest.Wedding, ctx.Err()
		})
		if err != nil || len(names) != 2 {
			t.Fatalf("DoAll = %v, %v", names, err)
		}
	})
}

// Do asks again with its own token when it cannot know whether it got the name.
func TestDoAsksAgainForItsHold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := coretest.NewGatedStore()
		reg := coretest.MustOpen(t, store, dibs.Config{})
		first := true
		store.Gate(func(commit func() ([]dibs.Outcome, error)) ([]dibs.Outcome, error) {
			if first {
				first = false
				_, _ = commit()
				return nil, dibs.OutcomeUnknown(errors.New("connection reset"))
			}
			return commit()
		})
		name, err := reg.Do(t.Context(), aliceBob, func(context.Context, dibs.Hold) (dibs.Entity, error) { return coretest.Wedding, nil })
		if err != nil || name.State != dibs.Active {
			t.Fatalf("Do = %+v, %v", name, err)
		}
	})
}

// The same Do again after a crash, when the hold is past its time and waits for its
// witness: it goes on where it was, and does not spin.
func TestDoTakesUpASuspect(t *testing.T) {
	t.Parallel()
	for _, maxHold := range []time.Duration{5 * coretest.Minute, 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			store := coretest.NewGatedStore()
			reg := coretest.MustOpen(t, store, dibs.Config{Policies: map[string]dibs.Policy{
				"slug": {MaxTTL: 5 * coretest.Minute, MaxHold: maxHold, Witness: coretest.AlwaysUnknown},
			}})
			again := aliceBob
			again.Token = dibs.NewToken()
			if _, err := reg.Reserve(t.Context(), again); err != nil {
				t.Fatal(err)
			}
			time.Sleep(6 * coretest.Minute)
			before := store.Commits()
			_, err := reg.Do(t.Context(), again, func(ctx context.Context, _ dibs.Hold) (dibs.Entity, error) {
				select {
				case <-ctx.Done():
					return dibs.Entity{}, ctx.Err()
				case <-time.After(10 * coretest.Minute):
					return coretest.Wedding, nil
				}
			})
			if extended := maxHold > 6*coretest.Minute; extended != (err == nil) {
				t.Errorf("with MaxHold %v: Do = %v", maxHold, err)
			}
			if n := store.Commits() - before; n > 100 {
				t.Errorf("with MaxHold %v: %d commits", maxHold, n)
			}
		})
	}
}
