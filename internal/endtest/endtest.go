// Package endtest has questions to a registry whose answers depend on whether a hold is
// over.
package endtest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/calldibs/dibs"
)

// Namespace and Value are the name of all questions.
const (
	Namespace = "slug"
	Value     = "n"
)

// Questions are all kinds of requests whose answers depend on whether the hold on the name is
// over. None of them changes anything once it is.
var Questions = map[string]func(ctx context.Context, reg *dibs.Registry, token string) error{
	"get": func(ctx context.Context, reg *dibs.Registry, _ string) error {
		_, err := reg.Get(ctx, dibs.Lookup{Namespace: Namespace, Value: Value})
		return err
	},
	"check": func(ctx context.Context, reg *dibs.Registry, _ string) error {
		_, err := reg.Check(ctx, dibs.CheckRequest{Namespace: Namespace, Values: []string{Value}})
		return err
	},
	"resolve": func(ctx context.Context, reg *dibs.Registry, _ string) error {
		_, err := reg.Resolve(ctx, Namespace, Value)
		return err
	},
	"list": func(ctx context.Context, reg *dibs.Registry, _ string) error {
		_, err := reg.List(ctx, dibs.NamesQuery{})
		return err
	},
	"list free names": func(ctx context.Context, reg *dibs.Registry, _ string) error {
		_, err := reg.List(ctx, dibs.NamesQuery{State: dibs.Free})
		return err
	},
	"who held it": func(ctx context.Context, reg *dibs.Registry, _ string) error {
		_, err := reg.WhoHeld(ctx, Namespace, Value, time.Now())
		return err
	},
	"extend": func(ctx context.Context, reg *dibs.Registry, token string) error {
		_, err := reg.Extend(ctx, dibs.Extend{ID: dibs.NameID(Namespace, Value), Token: token, TTL: dibs.For(time.Minute)})
		return err
	},
	"reserve again": func(ctx context.Context, reg *dibs.Registry, token string) error {
		_, err := reg.Reserve(ctx, dibs.Reserve{Namespace: Namespace, Value: Value, Token: token})
		return err
	},
	"reserve, dry run": func(ctx context.Context, reg *dibs.Registry, _ string) error {
		_, err := reg.DryRun(ctx, dibs.Reserve{Namespace: Namespace, Value: Value})
		return err
	},
}

// given is how long a question waits that must not be answered.
const given = 200 * time.Millisecond

// Unanswered demands that no question is answered: the hold has ended, and a commit that was
// decided before its end is in progress.
func Unanswered(t *testing.T, reg *dibs.Registry, token string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), given)
	defer cancel()
	var asking sync.WaitGroup
	for name, ask := range Questions {
		asking.Go(func() {
			if err := ask(ctx, reg, token); !errors.Is(err, dibs.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: answered %v while a commit is in progress", name, err)
			}
		})
	}
	asking.Wait()
}

// Confirmed demands that all answers agree with a confirmed hold.
func Confirmed(t *testing.T, reg *dibs.Registry, hold dibs.Hold) {
	t.Helper()
	for name, ask := range Questions {
		err := ask(t.Context(), reg, hold.Token)
		if errors.Is(err, dibs.ErrAlreadyExpired) || errors.Is(err, dibs.ErrUnavailable) || errors.Is(err, dibs.ErrOutcomeUnknown) {
			t.Errorf("%s: answered %v after the hold was confirmed", name, err)
		}
	}
	found, err := reg.Get(t.Context(), dibs.Lookup{Namespace: Namespace, Value: Value})
	if err != nil || found.State != dibs.Active || found.Epoch != hold.Epoch {
		t.Errorf("the name is %s of epoch %d, %v", found.State, found.Epoch, err)
	}
}
