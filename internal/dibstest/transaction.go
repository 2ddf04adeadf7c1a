package dibstest

import (
	"context"
	"errors"
	"testing"

	"github.com/calldibs/dibs"
)

// StateOf returns the state of a name in the namespace slug.
func StateOf(tb testing.TB, reg *dibs.Registry, value string) dibs.State {
	tb.Helper()
	name, err := reg.Get(tb.Context(), dibs.Lookup{Namespace: "slug", Value: value})
	if errors.Is(err, dibs.ErrNotFound) {
		return dibs.Free
	}
	if err != nil {
		tb.Fatal(err)
	}
	return name.State
}

// CheckUnsupportedInTx checks that a registry in a caller's transaction refuses the verbs that
// need more than one transaction, and that its Close does nothing.
func CheckUnsupportedInTx(tb testing.TB, bound *dibs.Registry) {
	tb.Helper()
	ctx := tb.Context()
	if _, err := bound.Sweep(ctx, 1); !errors.Is(err, dibs.ErrUnsupported) {
		tb.Errorf("Sweep: %v", err)
	}
	save := func(context.Context, dibs.Hold) (dibs.Entity, error) {
		return dibs.Entity{Type: "product", ID: "101"}, nil
	}
	if _, err := bound.Do(ctx, dibs.Reserve{Namespace: "slug", Value: "spring"}, save); !errors.Is(err, dibs.ErrUnsupported) {
		tb.Errorf("Do: %v", err)
	}
	for _, err := range bound.Watch(ctx, dibs.FeedQuery{}) {
		if !errors.Is(err, dibs.ErrUnsupported) {
			tb.Errorf("Watch: %v", err)
		}
	}
	if err := bound.Close(); err != nil {
		tb.Errorf("Close: %v", err)
	}
}
