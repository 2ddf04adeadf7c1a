package model_test

import (
	"context"
	"slices"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/model"
)

// forget forgets an entity on every side. Each side erases the same names as the model,
// plans so before, and has nothing left.
func (w *world) forget() {
	owner := model.Owner{Scope: draw(w, "scope", "", "", "acme"), Entity: w.drawEntity()}
	request := dibs.ForgetRequest{Scope: owner.Scope, Entity: owner.Entity}
	w.t.Logf("%s in %q is forgotten", owner.Entity, owner.Scope)
	var plans [][]string
	for _, s := range w.sides {
		s.feed.read(w, s.registry)
		plans = append(plans, w.forgetOn(s, dibs.ForgetRequest{Scope: owner.Scope, Entity: owner.Entity, DryRun: true}))
	}
	want := keysOf(w.model.Forget(w.now, owner))
	w.forgot = true
	for i, s := range w.sides {
		got := w.forgetOn(s, request)
		if !slices.Equal(got, want) || !slices.Equal(plans[i], want) {
			w.t.Fatalf("expected to forget %v, but planned %v and forgot %v", want, plans[i], got)
		}
		again, err := s.registry.Forget(context.Background(), request)
		if err != nil || !again.Replayed {
			w.t.Fatalf("forgetting it again: %+v, %v", again, err)
		}
		w.wantForgotten(s, owner)
	}
}

// forgetOn returns the sorted keys of the erased names.
func (w *world) forgetOn(s *side, request dibs.ForgetRequest) (keys []string) {
	report, err := s.registry.Forget(context.Background(), request)
	if err != nil {
		w.t.Fatalf("forget: %v", err)
	}
	for _, n := range report.Erased {
		keys = append(keys, plainKey(n.Key()))
	}
	slices.Sort(keys)
	return keys
}

// wantForgotten demands that no event in the feed has an entity.
func (w *world) wantForgotten(s *side, owner model.Owner) {
	events, err := s.store.Events(context.Background(), dibs.EventQuery{Limit: 1 << 20})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range events {
		if e.Scope == owner.Scope && slices.Contains([]dibs.Entity{e.Entity, e.Before.Entity, e.After.Entity}, owner.Entity) {
			w.t.Fatalf("%s is forgotten, but the feed has %+v", owner.Entity, e)
		}
	}
}
