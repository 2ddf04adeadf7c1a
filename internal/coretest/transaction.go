package coretest

import (
	"context"
	"errors"
	"testing"

	"github.com/calldibs/dibs"
)

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
