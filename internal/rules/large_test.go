package rules_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/memstore"
)

// smallStore commits groups of a few records at most.
type smallStore struct {
	*memstore.Store
	most    int
	refused atomic.Int64
}

func (s *smallStore) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	outcomes := make([]dibs.Outcome, len(groups))
	for i, group := range groups {
		if len(group.Writes) > s.most {
			s.refused.Add(1)
			outcomes[i] = dibs.TooLarge
			continue
		}
		done, err := s.Store.Commit(ctx, []dibs.Group{group})
		if err != nil {
			return nil, err
		}
		outcomes[i] = done[0]
	}
	return outcomes, nil
}

// Commands that share a record stand in one group. An engine that cannot commit all of
// them at once gets them in parts, and each still counts what those before it did.
func TestGroupsThatAreTooLarge(t *testing.T) {
	t.Parallel()
	const holds, callers = 30, 40
	store := &smallStore{Store: memstore.New(memstore.Config{}), most: 4}
	reg := coretest.MustOpen(t, store, dibs.Config{Policies: map[string]dibs.Policy{"slug": {MaxHolds: holds}}})
	alice := reg.As(dibs.Principal{Name: "alice"})
	answers := make(chan error, callers)
	for i := range callers {
		go func() {
			_, err := alice.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: fmt.Sprint("name-", i)})
			answers <- err
		}()
	}
	held := 0
	for range callers {
		switch err := <-answers; {
		case err == nil:
			held++
		case !errors.Is(err, dibs.ErrTooManyHolds):
			t.Error(err)
		}
	}
	if held != holds {
		t.Errorf("%d holds, want %d", held, holds)
	}
}

// A command that is too large by itself is refused, and says so.
func TestCommandThatIsTooLarge(t *testing.T) {
	t.Parallel()
	store := &smallStore{Store: memstore.New(memstore.Config{}), most: 4}
	reg := coretest.MustOpen(t, store, dibs.Config{})
	var list []dibs.Command
	for i := range 6 {
		list = append(list, dibs.Reserve{Namespace: "slug", Value: fmt.Sprint("name-", i)})
	}
	if _, err := reg.Apply(t.Context(), list...); !errors.Is(err, dibs.ErrTooLarge) {
		t.Errorf("%v, want TOO_LARGE", err)
	}
	if store.refused.Load() == 0 {
		t.Error("the engine was not asked")
	}
	if _, err := reg.Apply(t.Context(), list[:3]...); err != nil {
		t.Error(err)
	}
}
