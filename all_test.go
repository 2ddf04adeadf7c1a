package dibs_test

import (
	"errors"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// holdAB reserves the slugs a and b together.
func holdAB(t *testing.T, reg *dibs.Registry) []dibs.Hold {
	t.Helper()
	holds, err := reg.ReserveAll(t.Context(), dibs.ReserveAll{Token: dibs.NewToken(), Reservations: []dibs.Reserve{
		{Namespace: "slug", Value: "a"}, {Namespace: "tenant.slug", Value: "a"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return holds
}

func wantStates(t *testing.T, reg *dibs.Registry, want dibs.State) {
	t.Helper()
	for _, namespace := range []string{"slug", "tenant.slug"} {
		name, err := reg.Get(t.Context(), dibs.Lookup{Namespace: namespace, Value: "a"})
		if err != nil || name.State != want {
			t.Errorf("%s:a is %s, %v, want %s", namespace, name.State, err, want)
		}
	}
}

// refusedAt returns the error of the one part of a list that was refused.
func refusedAt(t *testing.T, err error, index int) *dibs.Error {
	t.Helper()
	refused, ok := errors.AsType[*dibs.Error](err)
	if !ok || len(refused.Failures) != 1 || refused.Failures[0].Index != index {
		t.Fatalf("the error is %v, want one about part %d alone", err, index)
	}
	return refused.Failures[0].Err
}

func TestConfirmAll(t *testing.T) {
	t.Parallel()
	reg := coretest.OpenMem(t, dibs.Config{})
	holds := holdAB(t, reg)
	for range 2 { // the second one finds its result
		names, err := reg.ConfirmAll(t.Context(), holds, coretest.Wedding)
		if err != nil || len(names) != 2 || names[0].Namespace != "slug" || names[1].Namespace != "tenant.slug" {
			t.Fatalf("ConfirmAll = %+v, %v", names, err)
		}
		for _, name := range names {
			if name.State != dibs.Active || name.Entity != coretest.Wedding {
				t.Errorf("%s is %s, of %s", name.Key(), name.State, name.Entity)
			}
		}
	}
	if _, err := reg.ReleaseAll(t.Context(), holds); !errors.Is(err, dibs.ErrAlreadyConfirmed) {
		t.Errorf("ReleaseAll after ConfirmAll = %v", err)
	}
	wantStates(t, reg, dibs.Active)
}

func TestReleaseAll(t *testing.T) {
	t.Parallel()
	reg := coretest.OpenMem(t, dibs.Config{})
	holds := holdAB(t, reg)
	for range 2 {
		names, err := reg.ReleaseAll(t.Context(), holds)
		if err != nil || len(names) != 2 || names[0].Status != dibs.StatusReleased || names[1].Status != dibs.StatusReleased {
			t.Fatalf("ReleaseAll = %+v, %v", names, err)
		}
	}
	if _, err := reg.ConfirmAll(t.Context(), holds, coretest.Wedding); !errors.Is(err, dibs.ErrAlreadyReleased) {
		t.Errorf("ConfirmAll after ReleaseAll = %v", err)
	}
	wantStates(t, reg, dibs.Free)
}

func TestAllOrNone(t *testing.T) {
	t.Parallel()
	reg := coretest.OpenMem(t, dibs.Config{})
	holds := holdAB(t, reg)
	holds[1].Token = "the-token-of-another-caller"
	_, err := reg.ConfirmAll(t.Context(), holds, coretest.Wedding)
	if err := refusedAt(t, err, 1); !errors.Is(err, dibs.ErrLost) {
		t.Errorf("ConfirmAll = %v", err)
	}
	_, err = reg.ReleaseAll(t.Context(), holds)
	if err := refusedAt(t, err, 1); !errors.Is(err, dibs.ErrLost) {
		t.Errorf("ReleaseAll = %v", err)
	}
	wantStates(t, reg, dibs.Held)
	if _, err := reg.ConfirmAll(t.Context(), nil, coretest.Wedding); !errors.Is(err, dibs.ErrInvalidValue) {
		t.Errorf("ConfirmAll of nothing = %v", err)
	}
}

func TestAllAgainAfterALostAnswer(t *testing.T) {
	t.Parallel()
	for what, call := range map[string]func(*dibs.Registry, []dibs.Hold) ([]dibs.Name, error){
		"ConfirmAll": func(reg *dibs.Registry, holds []dibs.Hold) ([]dibs.Name, error) {
			return reg.ConfirmAll(t.Context(), holds, coretest.Wedding)
		},
		"ReleaseAll": func(reg *dibs.Registry, holds []dibs.Hold) ([]dibs.Name, error) {
			return reg.ReleaseAll(t.Context(), holds)
		},
	} {
		store := coretest.NewHookStore()
		reg := coretest.MustOpen(t, store, dibs.Config{})
		holds := holdAB(t, reg)
		store.OnCommit(func(commit coretest.CommitFunc) ([]dibs.Outcome, error) {
			_, _ = commit()
			return nil, dibs.OutcomeUnknown(errors.New("connection reset"))
		})
		if names, err := call(reg, holds); !errors.Is(err, dibs.ErrOutcomeUnknown) || names != nil {
			t.Errorf("%s = %v, %v", what, names, err)
		}
		store.OnCommit(nil)
		if names, err := call(reg, holds); err != nil || len(names) != 2 {
			t.Errorf("%s again = %v, %v", what, names, err)
		}
	}
}
