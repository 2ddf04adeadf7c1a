package dibs_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

var aliceBob = dibs.Reserve{Namespace: "slug", Value: "alice-bob", TTL: dibs.For(time.Minute)}

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
			time.Sleep(10 * time.Minute) // in the bubble: a slow payment
			if got := coretest.StateOf(t, reg, "alice-bob"); got != dibs.Held {
				t.Errorf("after ten minutes with a ttl of one minute the name is %s", got)
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
		cancel() // the name is released even if the caller has left
		return dibs.Entity{}, declined
	})
	if !errors.Is(err, declined) {
		t.Fatalf("Do = %v, want fn's own error", err)
	}
	if got := coretest.StateOf(t, reg, "alice-bob"); got != dibs.Free {
		t.Fatalf("the name is %s after a plain error", got)
	}
}

func TestDoLeavesTheHoldWhenTheOutcomeIsUnknown(t *testing.T) {
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
				t.Fatalf("the name is %s, want held", got)
			}
			// The hold in the error still works.
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
				t.Errorf("recovered %v, want boom", p)
			}
		}()
		_, _ = reg.Do(t.Context(), aliceBob, func(context.Context, dibs.Hold) (dibs.Entity, error) { panic("boom") })
	}()
	if got := coretest.StateOf(t, reg, "alice-bob"); got != dibs.Held {
		t.Fatalf("the name is %s, want held", got)
	}
}

func TestDoConfirmsAgainWhileTheEngineFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := coretest.NewHookStore()
		reg := coretest.MustOpen(t, store, dibs.Config{})
		name, err := reg.Do(t.Context(), aliceBob, func(context.Context, dibs.Hold) (dibs.Entity, error) {
			failures := 0
			store.OnCommit(func(commit coretest.CommitFunc) ([]dibs.Outcome, error) {
				switch failures++; failures {
				case 1:
					return nil, dibs.Unavailable(errors.New("connection refused"))
				case 2: // the commit happens, but its answer is lost
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

func TestDoReportsTheHoldWhenTheEngineStaysUnavailable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := coretest.NewHookStore()
		reg := coretest.MustOpen(t, store, dibs.Config{Policies: map[string]dibs.Policy{
			"slug": {Witness: func(context.Context, dibs.SuspectHold) (dibs.Verdict, error) {
				return dibs.Exists(coretest.Wedding), nil
			}},
		}})
		start := time.Now()
		_, err := reg.Do(t.Context(), aliceBob, func(context.Context, dibs.Hold) (dibs.Entity, error) {
			store.Answer(nil, dibs.Unavailable(errors.New("connection refused")))
			return coretest.Wedding, nil
		})
		var left *dibs.DoError
		if !errors.As(err, &left) || left.Entity != coretest.Wedding || !errors.Is(err, dibs.ErrUnavailable) {
			t.Fatalf("Do = %v, want a DoError that names the entity", err)
		}
		if took := time.Since(start); took < time.Minute {
			t.Errorf("Do gave up after %v, the hold lasted a minute", took)
		}
		store.OnCommit(nil)
		// The witness knows that the entity exists, so the name is confirmed.
		if _, err := reg.Sweep(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		if got := coretest.StateOf(t, reg, "alice-bob"); got != dibs.Active {
			t.Fatalf("the name is %s after the verdict of the witness", got)
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
		reg := coretest.OpenMem(t, dibs.Config{Default: dibs.Policy{MaxHold: 5 * time.Minute}})
		_, err := reg.Do(t.Context(), aliceBob, func(ctx context.Context, _ dibs.Hold) (dibs.Entity, error) {
			<-ctx.Done()
			return coretest.Wedding, nil // fn ignored the end of its context, and saved
		})
		var left *dibs.DoError
		if !errors.As(err, &left) || !errors.Is(err, dibs.ErrAlreadyExpired) {
			t.Fatalf("Do = %v, want ALREADY_EXPIRED with the hold", err)
		}
		if got := coretest.StateOf(t, reg, "alice-bob"); got != dibs.Free {
			t.Fatalf("the name is %s after MaxHold", got)
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

// The context of fn ends before the hold does, even if the engine does not answer.
func TestDoEndsFnsContextWhenTheEngineIsUnavailable(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(store *coretest.HookStore) func(){
		"refuses": func(store *coretest.HookStore) func() {
			store.Answer(nil, dibs.Unavailable(errors.New("no route to host")))
			return func() { store.OnCommit(nil) }
		},
		"hangs": (*coretest.HookStore).Block,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := coretest.NewHookStore()
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
				if took < 50*time.Second || took > time.Minute {
					t.Errorf("fn's context ended after %v, the hold lasted a minute", took)
				}
			})
		})
	}
}

// A hold that cannot be extended any further does not keep the others from being extended.
func TestDoAllExtendsEachHoldOnItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := coretest.OpenMem(t, dibs.Config{Policies: map[string]dibs.Policy{"slug": {MaxTTL: 20 * time.Minute, MaxHold: 20 * time.Minute}}})
		names, err := reg.DoAll(t.Context(), dibs.ReserveAll{Reservations: []dibs.Reserve{
			{Namespace: "slug", Value: "alice", TTL: dibs.For(20 * time.Minute)},
			{Namespace: "email", Value: "alice@example.com", TTL: dibs.For(time.Minute)},
		}}, func(ctx context.Context, holds []dibs.Hold) (dibs.Entity, error) {
			slices.Reverse(holds) // fn may change its slice
			time.Sleep(10 * time.Minute)
			return coretest.Wedding, ctx.Err()
		})
		if err != nil || len(names) != 2 {
			t.Fatalf("DoAll = %v, %v", names, err)
		}
	})
}

// Do repeats its Reserve with the same token when the outcome is unknown.
func TestDoRepeatsItsReserve(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := coretest.NewHookStore()
		reg := coretest.MustOpen(t, store, dibs.Config{})
		first := true
		store.OnCommit(func(commit coretest.CommitFunc) ([]dibs.Outcome, error) {
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

// A Do that is repeated after a crash, when its hold is a suspect, continues with the hold if it can be
// extended, and does not retry in a tight loop.
func TestDoContinuesWithASuspect(t *testing.T) {
	t.Parallel()
	for _, maxHold := range []time.Duration{5 * time.Minute, 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			store := coretest.NewHookStore()
			reg := coretest.MustOpen(t, store, dibs.Config{Policies: map[string]dibs.Policy{
				"slug": {MaxTTL: 5 * time.Minute, MaxHold: maxHold, Witness: coretest.AlwaysUnknown},
			}})
			again := aliceBob
			again.Token = dibs.NewToken()
			if _, err := reg.Reserve(t.Context(), again); err != nil {
				t.Fatal(err)
			}
			time.Sleep(6 * time.Minute)
			before := store.Commits()
			_, err := reg.Do(t.Context(), again, func(ctx context.Context, _ dibs.Hold) (dibs.Entity, error) {
				select {
				case <-ctx.Done():
					return dibs.Entity{}, ctx.Err()
				case <-time.After(10 * time.Minute):
					return coretest.Wedding, nil
				}
			})
			if extended := maxHold > 6*time.Minute; extended != (err == nil) {
				t.Errorf("with MaxHold %v: Do = %v", maxHold, err)
			}
			if n := store.Commits() - before; n > 100 {
				t.Errorf("with MaxHold %v: %d commits", maxHold, n)
			}
		})
	}
}

// holdsWithoutExtend are the rights of a key that may reserve, confirm and release.
type holdsWithoutExtend struct{}

func (holdsWithoutExtend) Allow(command dibs.Command, _ string) bool {
	_, extends := command.(dibs.Extend)
	return !extends
}

func (holdsWithoutExtend) RightsIn(string) dibs.Rights { return 0 }

// The refusal of an Extend is part of the error, however fn reacts to the end of its context. The hold
// is not released: it still has time, and fn may have saved the entity when its context ended.
func TestDoReportsARefusedExtend(t *testing.T) {
	t.Parallel()
	for name, fn := range map[string]func(ctx context.Context) (dibs.Entity, error){
		"fn returns the error of its context": func(ctx context.Context) (dibs.Entity, error) {
			<-ctx.Done()
			return dibs.Entity{}, ctx.Err()
		},
		"fn returns the cause": func(ctx context.Context) (dibs.Entity, error) {
			<-ctx.Done()
			return dibs.Entity{}, context.Cause(ctx)
		},
		"fn saves too late": func(context.Context) (dibs.Entity, error) {
			time.Sleep(2 * time.Minute)
			return coretest.Wedding, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg := coretest.OpenMem(t, dibs.Config{})
				shop := reg.As(dibs.Principal{Name: "shop", Grants: holdsWithoutExtend{}})
				_, err := shop.Do(t.Context(), aliceBob, func(ctx context.Context, _ dibs.Hold) (dibs.Entity, error) {
					time.Sleep(time.Second)
					return fn(ctx)
				})
				left, ok := errors.AsType[*dibs.DoError](err)
				if !ok || len(left.Holds) != 1 || !strings.Contains(err.Error(), "the hold could not be extended: ") || !errors.Is(err, dibs.ErrNotFound) {
					t.Fatalf("Do = %v, want a DoError with the refusal of the Extend", err)
				}
				if got := coretest.StateOf(t, reg, "alice-bob"); got != dibs.Held && left.Entity.IsZero() {
					t.Errorf("the name is %s, want held", got)
				}
			})
		})
	}
}

// A function that returns no entity, and no error, loses no name.
func TestDoWithoutAnEntity(t *testing.T) {
	t.Parallel()
	reg := coretest.OpenMem(t, dibs.Config{})
	_, err := reg.Do(t.Context(), aliceBob, func(context.Context, dibs.Hold) (dibs.Entity, error) { return dibs.Entity{}, nil })
	if _, ok := errors.AsType[*dibs.DoError](err); !ok || !errors.Is(err, dibs.ErrInvalidEntity) {
		t.Fatalf("Do = %v, want a DoError", err)
	}
	if got := coretest.StateOf(t, reg, "alice-bob"); got != dibs.Held {
		t.Fatalf("the name is %s, want held", got)
	}
}
