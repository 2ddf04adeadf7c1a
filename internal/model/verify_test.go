package model_test

import (
	"context"

	"github.com/calldibs/dibs/internal/snapshot"
	"github.com/calldibs/dibs/internal/verify"
)

// verify checks every store against itself: whatever happened, its records, indexes and events must
// agree. Rules that differ are left out: histories change policies.
func (w *world) verify() {
	for _, s := range w.sides {
		view, err := snapshot.Take(context.Background(), s.store)
		if err != nil {
			w.t.Fatalf("snapshot: %v", err)
		}
		options := verify.Options{Policies: w.policies, Slack: -1, Found: func(f verify.Finding) error {
			if f.Check != "rules" {
				w.t.Errorf("%s: %s: %s (found %s, expected %s)", f.Check, f.Where(), f.Problem, f.Found, f.Expected)
			}
			return nil
		}}
		if _, err := verify.Store(context.Background(), view, options); err != nil {
			w.t.Fatalf("verify: %v", err)
		}
	}
}
