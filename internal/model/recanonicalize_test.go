package model_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/core"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/internal/model"
)

// TestRecanonicalize changes a namespace's rules during a history, and changes them back:
// existing names continue in the registry as in the model.
func TestRecanonicalize(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, true)
		defer w.close()
		w.liveAndChange()
	})
}

// liveAndChange draws steps and takes them, and changes the rules of a namespace now and then.
func (w *world) liveAndChange() {
	_ = w.sides[1].registry.Close()
	w.sides, w.changing = w.sides[:1], "one"
	policy := w.policies["one"]
	policy.Profile, policy.Skeleton, policy.Blind = dibs.Exact, nil, nil
	delete(w.orders, "one")
	w.policies["one"] = policy
	w.model = model.New(maps.Clone(w.policies), scopes, entities)
	w.reopen()
	for range rapid.IntRange(1, 3).Draw(w.t, "changes") {
		for range rapid.IntRange(1, 25).Draw(w.t, "steps") {
			switch draw(w, "step", "apply", "apply", "apply", "list", "wait", "sweep") {
			case "apply":
				w.apply(false, w.drawCommand())
			case "list":
				w.apply(false, w.drawCommand(), w.drawCommand())
			case "wait":
				w.now = w.drawMoment()
				w.t.Logf("now: %s", w.since(w.now))
			case "sweep":
				w.sweep(w.sides[0], true)
			}
			w.observe()
		}
		next := w.policies["one"]
		next.Profile = draw[dibs.Profile](w, "profile", folding{}, folding{}, dibs.Exact)
		next.Skeleton = draw[dibs.Skeleton](w, "skeleton", looking{}, nil)
		w.recanonicalize(next)
	}
	w.observe()
	w.reread(w.sides[0])
}

// remembered is what a registry returned for a name before the rules changed.
type remembered struct {
	history []dibs.Event
	who     map[int64]dibs.Holder
}

func (w *world) remember(key model.Key) remembered {
	ctx := context.Background()
	r := remembered{who: make(map[int64]dibs.Holder)}
	name, _ := w.model.Get(w.now, key)
	if _, ok := w.key(key.Namespace, name.Value); !ok {
		return r // still in quarantine, and no value leads to it any more
	}
	var err error
	if r.history, err = w.sides[0].registry.History(ctx, key.Namespace, name.Value); err != nil {
		w.t.Fatal(err)
	}
	for _, moment := range w.model.Past(key) {
		if r.who[moment.At], err = w.sides[0].registry.WhoHeld(ctx, key.Namespace, name.Value, dibs.Instant(moment.At).Time()); err != nil {
			w.t.Fatal(err)
		}
	}
	return r
}

// recanonicalize changes the rules of the namespace if possible, with one or two
// interruptions.
func (w *world) recanonicalize(next dibs.Policy) {
	ctx, s, namespace := context.Background(), w.sides[0], w.changing
	w.t.Logf("%s changes to the rules %s and %v", namespace, next.Profile.Name(), next.Skeleton)
	w.now++ // the histories of several rows are merged by time: every change needs its own
	plan := w.model.Plan(w.now, namespace, next)
	before := make(map[model.Key]remembered)
	for _, keys := range plan.Groups {
		for _, key := range keys {
			before[key] = w.remember(key)
		}
	}
	last, was := w.policies[namespace], s.registry
	w.policies[namespace] = next
	s.registry = w.registry(s)
	request := dibs.RecanonicalizeRequest{Namespace: namespace, DryRun: true}
	same := last.Profile == next.Profile && last.Skeleton == next.Skeleton
	dry, err := s.registry.Recanonicalize(ctx, request)
	if err != nil {
		w.t.Fatal(err)
	}
	unused := dry.From == ""
	if !same {
		w.checkPlan(plan, dry)
	}
	if news := s.feed.read(w, s.registry); len(news) > 0 {
		w.t.Fatalf("a plan emitted %s of %s", news[0].Kind, news[0].Key())
	}
	request.DryRun = false
	if !same && !unused && plan.Possible() && s.mirror == nil {
		w.interrupt(was, rapid.IntRange(1, 8).Draw(w.t, "interrupted at"), last)
	}
	_, err = s.registry.Recanonicalize(ctx, request)
	switch {
	case err == nil && (same || plan.Possible()):
	case err != nil && !same && !plan.Possible():
		w.t.Logf("refused: %v", err)
		for _, e := range s.feed.read(w, s.registry) {
			w.t.Fatalf("it was refused, but emitted %s of %s", e.Kind, e.Key())
		}
		_ = s.registry.Close()
		w.policies[namespace], s.registry = last, was
		return
	default:
		w.t.Fatalf("under %s: %v; expected to be possible: %v", next.Profile.Name(), err, plan.Possible())
	}
	_ = was.Close()
	if same {
		return
	}
	w.model.Change(w.now, namespace, next)
	for to, keys := range plan.Groups {
		n, err := s.registry.Get(ctx, dibs.Lookup{Namespace: namespace, Value: to.Canonical})
		if err != nil || !w.model.Learn(to, n.Epoch) {
			name, _ := w.model.Get(w.now, to)
			w.t.Fatalf("%+v became %+v, %v; expected %+v", keys, n, err, name)
		}
		for _, key := range keys {
			for was := range maps.Clone(s.asked) {
				if was.key == key {
					s.asked[doubtful{to, n.Epoch, was.expiresAt}] = true
				}
			}
			w.checkRemembered(to, before[key], len(w.model.Past(to)) == 1)
		}
	}
	w.observe()
}

// checkRemembered checks that a name's past is complete, except for whole epochs with a
// spelling that is another name by the new rules. WhoHeld of another name is only
// compared if that name has no past of its own.
func (w *world) checkRemembered(to model.Key, before remembered, alone bool) {
	ctx, registry := context.Background(), w.sides[0].registry
	after, err := registry.History(ctx, to.Namespace, to.Canonical)
	if err != nil {
		w.t.Fatal(err)
	}
	so := make(map[epochOf]bool)
	for _, e := range before.history {
		if key, ok := w.key(to.Namespace, e.Value); ok && key == to {
			so[epochOf{e.ID, e.Epoch}] = true
		}
	}
	for _, e := range before.history {
		if !so[epochOf{e.ID, e.Epoch}] {
			alone = false
			continue
		}
		if !slices.ContainsFunc(after, func(a dibs.Event) bool { return a.Cursor == e.Cursor }) {
			w.t.Fatalf("the history of %+v has lost %s of %s", to, e.Kind, e.Key())
		}
	}
	for at, holder := range before.who {
		if !alone || at == w.now {
			continue
		}
		again, err := registry.WhoHeld(ctx, to.Namespace, to.Canonical, dibs.Instant(at).Time())
		if err != nil || again != holder {
			w.t.Fatalf("who held %+v at %s: was %+v, now %+v, %v", to, w.since(at), holder, again, err)
		}
	}
}

// epochOf is one epoch of a row.
type epochOf struct {
	id    dibs.ID
	epoch uint64
}

// checkPlan compares a registry's plan with the model's.
func (w *world) checkPlan(plan model.Plan, got dibs.Recanonicalization) {
	if got.Looked != plan.Looked {
		w.t.Fatalf("planned for %d names, there are %d", got.Looked, plan.Looked)
	}
	kinds := make(map[string]dibs.FindingKind) // what happens to each name
	for _, f := range got.Findings {
		if f.Kind != dibs.FindingLookAlike {
			kinds[f.Name.Key()] = f.Kind
		}
	}
	for _, key := range plan.Invalid {
		if kind := kinds[keysOf([]model.Key{key})[0]]; kind != dibs.FindingInvalid {
			w.t.Fatalf("%+v is planned as %q, but is not valid", key, kind)
		}
	}
	want := make(map[dibs.FindingKind]int)
	for to, keys := range plan.Groups {
		here := make(map[dibs.FindingKind]int)
		for _, key := range keys {
			kind, found := kinds[keysOf([]model.Key{key})[0]]
			if found != (key != to) {
				w.t.Fatalf("%+v becomes %+v, but is planned as %q", key, to, kind)
			}
			here[kind]++
		}
		moving := len(keys) - here[""]
		switch {
		case plan.Collides(to):
			if here[dibs.FindingCollision] == 0 {
				w.t.Fatalf("%+v collide, but are planned as %+v", keys, here)
			}
		case here[""] == 0 && (here[dibs.FindingChange] != 1 || here[dibs.FindingMerge] != moving-1),
			here[""] == 1 && here[dibs.FindingMerge] != moving:
			w.t.Fatalf("%+v are merged, but are planned as %+v", keys, here)
		}
		for kind, n := range here {
			want[kind] += n
		}
	}
	want[dibs.FindingInvalid] = len(plan.Invalid)
	for _, kind := range []dibs.FindingKind{dibs.FindingChange, dibs.FindingMerge, dibs.FindingCollision, dibs.FindingInvalid} {
		if got.Counts[kind] != want[kind] {
			w.t.Fatalf("%d names are planned as %s, there are %d", got.Counts[kind], kind, want[kind])
		}
	}
}

// interrupt starts to change the rules and stops at a commit. Meanwhile registries with
// the old rules get no new names, and existing names still work for them.
func (w *world) interrupt(was *dibs.Registry, commits int, last dibs.Policy) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	store := &coretest.StopStore{Store: w.sides[0].store, At: commits, Stop: cancel}
	registry, err := core.Open(store, dibs.Config{Policies: w.policies, Suggestions: -1, MaxBatch: 2})
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = registry.Recanonicalize(ctx, dibs.RecanonicalizeRequest{Namespace: w.changing})
	_ = registry.Close()
	if err == nil {
		return // the change was complete before
	}
	if !errors.Is(err, context.Canceled) {
		w.t.Fatalf("interrupted: %v", err)
	}
	w.t.Logf("interrupted at commit %d", commits)
	_, err = was.Apply(context.Background(), dibs.Reserve{Namespace: w.changing, Value: "unheard of"})
	if !errors.Is(err, dibs.ErrUnavailable) {
		w.t.Fatalf("a new name while the rules change: %v", err)
	}
	for _, key := range w.model.Keys(func(n model.Name) bool { return n.State != dibs.Free }) {
		if key.Namespace != w.changing {
			continue
		}
		name, _ := w.model.Get(w.now, key)
		if _, err := last.Profile.Canonical(name.Value); err != nil {
			continue // still in quarantine, and no value leads to it any more
		}
		n, err := was.Get(context.Background(), dibs.Lookup{Namespace: key.Namespace, Value: name.Value})
		if err != nil || n.Entity != name.Shown() || n.Epoch < name.Epoch {
			w.t.Fatalf("%+v while the rules change: %+v, %v; it was %+v", key, n, err, name)
		}
		outcome, _ := w.model.Resolve(w.now, key)
		r, err := was.Resolve(context.Background(), key.Namespace, name.Value)
		// An alias may have been merged with the entity's active name.
		merged := r.Outcome == dibs.ResolveActive && r.Entity == name.Shown()
		if err != nil || (r.Outcome != outcome && !merged) {
			w.t.Fatalf("%+v while the rules change leads to %+v, %v; it was %s", key, r, err, outcome)
		}
		if isLive(name) && rapid.Bool().Draw(w.t, "extend") {
			w.extendMeanwhile(was, key, name)
		}
	}
}

// extendMeanwhile extends a hold by the id that the holder knows.
func (w *world) extendMeanwhile(registry *dibs.Registry, key model.Key, name model.Name) {
	command := dibs.Extend{ID: id(key), Token: name.Token, TTL: dibs.For(20 * time.Second)}
	_, refused := w.model.Apply(bob, w.now, []dibs.Command{command}, false)
	_, err := registry.As(bob).Apply(context.Background(), command)
	if (refused == nil) != (err == nil) {
		w.t.Fatalf("extending %+v while the rules change: %v, expected %+v", key, err, refused)
	}
}
