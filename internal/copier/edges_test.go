//go:build unix

package copier_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/copier"
	"github.com/calldibs/dibs/internal/record"
	"github.com/calldibs/dibs/memstore"
)

func (r *rig) claim(values ...string) {
	r.Helper()
	for _, value := range values {
		if _, err := r.registry.Claim(context.Background(), dibs.Claim{
			Namespace: "slug", Value: value, Entity: dibs.Entity{Type: "user", ID: value},
		}); err != nil {
			r.Fatal(err)
		}
	}
}

// put stores a document in the source.
func (r *rig) put(d *dibs.Document) {
	r.Helper()
	outcomes, err := r.source.Commit(context.Background(), []dibs.Group{{Reads: []dibs.Read{{Ref: d.Ref()}}, Writes: []dibs.Write{{Record: d}}}})
	if err != nil || outcomes[0] != dibs.Committed {
		r.Fatal(outcomes, err)
	}
}

// A copy that is given up leaves the source as it was. A finished one cannot be given up.
func TestAbandon(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", "memory")
	r.claim("a", "b")
	ctx := t.Context()
	stop := &life{}
	for stop.dies = 1; ; stop.dies++ { // until it is fenced
		stop.calls.Store(0)
		if _, err := r.copy(stop); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		if _, err := r.registry.Claim(ctx, dibs.Claim{Namespace: "slug", Value: fmt.Sprint("c", stop.dies), Entity: dibs.Entity{Type: "user", ID: fmt.Sprint(stop.dies)}}); err != nil {
			break
		}
	}
	if from, err := copier.Unfinished(ctx, r.target); err != nil || from != options.From {
		t.Errorf("the copy is from %q, %v", from, err)
	}
	if err := copier.Abandon(ctx, r.source, r.target, copier.Options{From: options.From, Place: "another place"}); !errors.Is(err, copier.ErrMoved) {
		t.Errorf("the fence of another copy: %v", err)
	}
	if err := copier.Abandon(ctx, r.source, r.target, copier.Options{From: options.From, To: "elsewhere", Place: options.Place}); !errors.Is(err, copier.ErrMoved) {
		t.Errorf("the fence of a copy to another target: %v", err)
	}
	if err := copier.Abandon(ctx, r.source, r.target, options); err != nil {
		t.Fatal(err)
	}
	r.claim("after")
	if _, err := r.copy(new(life)); err != nil { // it can be taken up again
		t.Fatal(err)
	}
	r.requireSame()
	if err := copier.Abandon(ctx, r.source, r.target, options); !errors.Is(err, copier.ErrDone) {
		t.Errorf("a finished copy was given up: %v", err)
	}
	if report, err := r.copy(new(life)); err != nil || !report.Earlier || report.Names == 0 {
		t.Errorf("a second copy: %+v, %v", report, err)
	}
}

// fencedRig returns a rig whose copy has fenced the source, and was killed before it was finished.
func fencedRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, "memory", "memory")
	r.claim("a")
	for dies := int64(1); ; dies++ {
		if _, err := r.copy(&life{dies: dies}); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		if len(must(r.source.Load(t.Context(), []dibs.Ref{record.FenceRef}))(t).Records) > 0 {
			return r
		}
	}
}

// takesChanges reports whether a registry gives out a name.
func takesChanges(t *testing.T, registry *dibs.Registry) bool {
	t.Helper()
	_, err := registry.Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: "new", Entity: dibs.Entity{Type: "user", ID: "new"}})
	if err != nil && !errors.Is(err, dibs.ErrUnavailable) {
		t.Fatal(err)
	}
	return err == nil
}

// Whatever target is named, the source never takes changes beside a finished copy, and no second copy of
// it is finished.
func TestOneOwner(t *testing.T) {
	t.Parallel()
	strangers := map[string]func(t *testing.T) dibs.Store{
		"an empty store":       func(*testing.T) dibs.Store { return memstore.New(memstore.Config{}) },
		"another registry":     func(t *testing.T) dibs.Store { return fencedRig(t).source },
		"another copy":         func(t *testing.T) dibs.Store { return fencedRig(t).target },
		"a store that is lost": func(*testing.T) dibs.Store { return nil },
	}
	for name, stranger := range strangers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, other := fencedRig(t), stranger(t)
			switch err := copier.Abandon(t.Context(), r.source, other, options); {
			case other == nil && err != nil:
				t.Errorf("an unfinished copy is not given up: %v", err)
			case other != nil && !errors.Is(err, copier.ErrNotTarget):
				t.Errorf("an unfinished copy: %v, want %v", err, copier.ErrNotTarget)
			}
			if _, err := r.copy(new(life)); err != nil {
				t.Fatal(err)
			}
			if err := copier.Abandon(t.Context(), r.source, other, options); !errors.Is(err, copier.ErrDone) {
				t.Errorf("a finished copy: %v, want %v", err, copier.ErrDone)
			}
			if takesChanges(t, r.registry) {
				t.Error("the source gives out names beside its copy")
			}
		})
	}
	r := fencedRig(t)
	if _, err := r.copy(new(life)); err != nil {
		t.Fatal(err)
	}
	other := newRig(t, "memory", "memory")
	other.claim("b")
	if _, err := other.copy(new(life)); err != nil {
		t.Fatal(err)
	}
	latest := must(r.source.Latest(t.Context()))(t)
	if cursor, err := copier.Translate(t.Context(), r.source, other.target, latest); !errors.Is(err, copier.ErrNotTarget) {
		t.Errorf("a cursor is translated into %q, of the copy of another source: %v", cursor, err)
	}
	second := memstore.New(memstore.Config{})
	if _, err := copier.Run(t.Context(), r.source, second, options); !errors.Is(err, copier.ErrMoved) {
		t.Errorf("a second copy: %v, want %v", err, copier.ErrMoved)
	}
	if found := must(second.Count(t.Context(), 0))(t); len(found.Names) > 0 {
		t.Errorf("a refused copy has written %+v", found)
	}
}

// A copier that goes on after its copy was given up does not finish it.
func TestGivenUpMeanwhile(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", "memory")
	r.claim("a")
	given := false
	o := options
	o.Progress = func(step copier.Step, _ int) {
		if step == copier.Draining && !given {
			given = true
			if err := copier.Abandon(t.Context(), r.source, r.target, options); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := copier.Run(t.Context(), r.source, r.target, o); err == nil || !given {
		t.Errorf("the copy is finished; given up: %v", given)
	}
	if !takesChanges(t, r.registry) {
		t.Error("the source takes no changes")
	}
	if from, err := copier.Unfinished(t.Context(), r.target); from == "" || err != nil {
		t.Errorf("the target may be used: %q, %v", from, err)
	}
}

// A target with names, or with a copy of another source, is refused and not changed.
func TestTargetInUse(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", "memory")
	r.claim("a")
	other := newRig(t, "memory", "memory")
	other.claim("mine")
	if _, err := copier.Run(t.Context(), r.source, other.source, options); !errors.Is(err, copier.ErrNotEmpty) {
		t.Errorf("a target with names: %v", err)
	}
	if _, err := copier.Run(t.Context(), r.source, r.target, copier.Options{From: "elsewhere", Place: "x", NoFence: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.copy(new(life)); !errors.Is(err, copier.ErrOther) || !strings.Contains(err.Error(), "elsewhere") {
		t.Errorf("a target of another copy: %v", err)
	}
	r.claim("still")
}

// Webhooks go on where they were, and readers with a cursor of their own miss nothing.
func TestCursors(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{{"memory", "memory"}, {"sqlite", "sqlite"}, {"sqlite", "memory"}} {
		t.Run(pair[0]+" to "+pair[1], func(t *testing.T) {
			t.Parallel()
			r := newRig(t, pair[0], pair[1])
			ctx := t.Context()
			for i := range 30 {
				r.claim(fmt.Sprint("n", i))
			}
			feed := must(r.source.Events(ctx, dibs.EventQuery{Limit: 1000}))(t)
			r.put(&dibs.Document{
				Kind: "webhookstate", ID: dibs.ID{1}, Rev: 1, Label: "hook",
				Data: must(json.Marshal(map[string]any{"cursor": feed[20].Cursor, "waiting": []any{map[string]any{"after": feed[4].Cursor, "cursor": feed[5].Cursor}}}))(t),
			})
			if _, err := r.copy(new(life)); err != nil {
				t.Fatal(err)
			}
			var state struct {
				Cursor  dibs.Cursor `json:"cursor"`
				Waiting []struct{ After, Cursor dibs.Cursor }
			}
			found := must(r.target.Load(ctx, []dibs.Ref{{Kind: "webhookstate", ID: dibs.ID{1}}}))(t)
			if err := json.Unmarshal(found.Records[0].(*dibs.Document).Data, &state); err != nil {
				t.Fatal(err)
			}
			r.requireNext(state.Cursor, feed[21])
			r.requireNext(state.Waiting[0].After, feed[5])
			r.requireNext(state.Waiting[0].Cursor, feed[6])
			for i := range feed[:len(feed)-1] {
				r.requireNext(must(copier.Translate(ctx, r.source, r.target, feed[i].Cursor))(t), feed[i+1])
				// With the cursor of the source a reader gets the first event again, or none.
				events, err := r.target.Events(ctx, dibs.EventQuery{After: feed[i].Cursor, Limit: 1})
				if err == nil && events[0].ID != feed[0].ID {
					t.Fatalf("with a cursor of the source a reader skips events: it gets %+v", events[0])
				}
			}
			end := must(copier.Translate(ctx, r.source, r.target, feed[len(feed)-1].Cursor))(t)
			if events := must(r.target.Events(ctx, dibs.EventQuery{After: end, Limit: 1}))(t); len(events) != 0 {
				t.Errorf("behind the end there is %+v", events[0])
			}
		})
	}
}

// A webhook that has lost its place, as after a load, is copied as one, and says so at the target.
func TestLostCursor(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"memory", "sqlite"} {
		r := newRig(t, engine, engine)
		r.claim("a", "b")
		for i, kind := range []dibs.Kind{"webhookstate", "webhookletter"} {
			r.put(&dibs.Document{Kind: kind, ID: dibs.ID{byte(i + 1)}, Rev: 1, Label: "hook", Data: []byte(`{"cursor":"nowhere"}`)})
		}
		if _, err := r.copy(new(life)); err != nil {
			t.Fatalf("%s: %v", engine, err)
		}
		for i, kind := range []dibs.Kind{"webhookstate", "webhookletter"} {
			var position struct{ Cursor dibs.Cursor }
			found := must(r.target.Load(t.Context(), []dibs.Ref{{Kind: kind, ID: dibs.ID{byte(i + 1)}}}))(t)
			if err := json.Unmarshal(found.Records[0].(*dibs.Document).Data, &position); err != nil {
				t.Fatal(err)
			}
			if _, err := r.target.Events(t.Context(), dibs.EventQuery{After: position.Cursor, Limit: 1}); !errors.Is(err, dibs.ErrBadCursor) {
				t.Errorf("%s: the %s has the cursor %q at the target: %v", engine, kind, position.Cursor, err)
			}
		}
	}
}

// What cannot be copied shows while the source is in use, not behind the fence.
func TestBadDocumentBeforeTheFence(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", "memory")
	r.put(&dibs.Document{Kind: "webhookstate", ID: dibs.ID{1}, Rev: 1, Label: "hook", Data: []byte("no JSON")})
	if _, err := r.copy(new(life)); err == nil {
		t.Error("the copy is finished")
	}
	if !takesChanges(t, r.registry) {
		t.Error("the source is fenced")
	}
}

// requireNext checks which event follows a cursor of the target.
func (r *rig) requireNext(cursor dibs.Cursor, want dibs.Event) {
	r.Helper()
	events := must(r.target.Events(context.Background(), dibs.EventQuery{After: cursor, Limit: 1}))(r)
	if len(events) != 1 || events[0].ID != want.ID || events[0].Rev != want.Rev {
		r.Errorf("after %s there is %+v, want %s", cursor, events, want.Key())
	}
}

// What was deleted, purged, used again or forgotten between two runs does not survive in the target.
func TestErasedMeanwhile(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"memory", "sqlite"} {
		t.Run(to, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "memory", to)
			ctx := t.Context()
			r.claim("stays", "forgotten", "transferred")
			hold := must(r.registry.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "purged", Meta: map[string]string{"secret": "first life"}}))(t)
			ahead := options
			ahead.NoFence = true
			if _, err := copier.Run(ctx, r.source, r.target, ahead); err != nil {
				t.Fatal(err)
			}
			must(r.registry.Release(ctx, dibs.Release{ID: hold.ID, Token: hold.Token}))(t)
			if _, err := copier.Run(ctx, r.source, r.target, ahead); err != nil {
				t.Fatal(err)
			}
			// Like a purge after the hold history, and a second life of the name.
			record := must(r.source.Load(ctx, []dibs.Ref{{Kind: dibs.KindName, ID: hold.ID}}))(t).Records[0].(*dibs.NameRecord)
			outcomes, err := r.source.Commit(ctx, []dibs.Group{{
				Reads: []dibs.Read{{Ref: record.Ref(), Rev: record.Rev}}, Writes: []dibs.Write{{Record: record, Delete: true, Was: record.State}},
			}})
			if err != nil || outcomes[0] != dibs.Committed {
				t.Fatal(outcomes, err)
			}
			r.claim("purged")
			owner := dibs.Entity{Type: "user", ID: "forgotten"}
			must(r.registry.As(dibs.Principal{Rights: dibs.Operate}).Forget(ctx, dibs.ForgetRequest{Entity: owner}))(t)
			if _, err := r.copy(new(life)); err != nil {
				t.Fatal(err)
			}
			r.requireSame()
			for _, e := range must(r.target.Events(ctx, dibs.EventQuery{Limit: 1000}))(t) {
				if e.Meta["secret"] != "" || e.Entity == owner || e.Value == "forgotten" {
					t.Errorf("the target has kept %+v", e)
				}
			}
		})
	}
}
