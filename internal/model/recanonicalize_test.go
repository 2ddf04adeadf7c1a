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

// TestRecanonicalize changes the rules of a namespace during a history, and may change them back. The
// registry must still agree with the model.
func TestRecanonicalize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, true)
		_ = w.sides[1].registry.Close()
		w.sides, w.changing = w.sides[:1], "one"
		defer w.close()
		policy := w.policies["one"]
		policy.Profile, policy.Skeleton, policy.Blind = dibs.Exact, nil, nil
		delete(w.orders, "one")
		w.policies["one"] = policy
		w.model = model.New(maps.Clone(w.policies), scopes, entities)
		w.reopen()
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			for range rapid.IntRange(1, 25).Draw(t, "steps") {
				switch draw(w, "step", "apply", "apply", "apply", "list", "wait", "sweep") {
				case "apply":
					w.apply(false, w.drawCommand())
				case "list":
					w.apply(false, w.drawCommand(), w.drawCommand())
				case "wait":
					w.now = w.drawMoment()
					t.Logf("it is %s", w.since(w.now))
				case "sweep":
					w.sweep(w.sides[0], true)
				}
				w.look()
			}
			next := w.policies["one"]
			next.Profile = draw[dibs.Profile](w, "profile", folding{}, folding{}, dibs.Exact)
			next.Skeleton = draw[dibs.Skeleton](w, "skeleton", looking{}, nil)
			w.recanonicalize(next)
		}
		w.look()
		w.reread(w.sides[0])
	})
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
		return r // quarantined under other rules: no command can name it now
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

// recanonicalize changes the rules of the namespace, if that is possible, and may interrupt the run
// before.
func (w *world) recanonicalize(next dibs.Policy) {
	ctx, s, namespace := context.Background(), w.sides[0], w.changing
	w.t.Logf("%s is to have the rules %s and %v", namespace, next.Profile.Name(), next.Skeleton)
	w.now++ // histories of several rows are merged by time, so each change has a time of its own
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
		w.t.Fatalf("a dry run wrote the event %s of %s", news[0].Kind, news[0].Key())
	}
	request.DryRun = false
	if !same && !unused && plan.Possible() {
		w.interrupt(was, rapid.IntRange(1, 8).Draw(w.t, "interrupted at"), last)
	}
	_, err = s.registry.Recanonicalize(ctx, request)
	switch {
	case err == nil && (same || plan.Possible()):
	case err != nil && !same && !plan.Possible():
		w.t.Logf("refused: %v", err)
		for _, e := range s.feed.read(w, s.registry) {
			w.t.Fatalf("a refused run wrote the event %s of %s", e.Kind, e.Key())
		}
		_ = s.registry.Close()
		w.policies[namespace], s.registry = last, was
		return
	default:
		w.t.Fatalf("under %s: %v; expected that it is possible: %v", next.Profile.Name(), err, plan.Possible())
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
	w.look()
}

// checkRemembered checks that a name has kept its history, except for the epochs that belong to another
// name under the present rules: those in which no event has a value with this canonical form. WhoHeld
// is compared only if the name has no other past.
func (w *world) checkRemembered(to model.Key, before remembered, alone bool) {
	ctx, registry := context.Background(), w.sides[0].registry
	after, err := registry.History(ctx, to.Namespace, to.Canonical)
	if err != nil {
		w.t.Fatal(err)
	}
	same := make(map[epochOf]bool)
	for _, e := range before.history {
		if key, ok := w.key(to.Namespace, e.Value); ok && key == to {
			same[epochOf{e.ID, e.Epoch}] = true
		}
	}
	for _, e := range before.history {
		if !same[epochOf{e.ID, e.Epoch}] {
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
			w.t.Fatalf("who held %+v at %s: it was %+v, now it is %+v, %v", to, w.since(at), holder, again, err)
		}
	}
}

// epochOf is one epoch of a row.
type epochOf struct {
	id    dibs.ID
	epoch uint64
}

// checkPlan compares the plan of a registry with the plan of the model.
func (w *world) checkPlan(plan model.Plan, got dibs.Recanonicalization) {
	if got.Looked != plan.Looked {
		w.t.Fatalf("the plan looked at %d names, want %d", got.Looked, plan.Looked)
	}
	kinds := make(map[string]dibs.FindingKind) // by name
	for _, f := range got.Findings {
		if f.Kind != dibs.FindingLookAlike {
			kinds[f.Name.Key()] = f.Kind
		}
	}
	for _, key := range plan.Invalid {
		if kind := kinds[keysOf([]model.Key{key})[0]]; kind != dibs.FindingInvalid {
			w.t.Fatalf("%+v is planned as %q, want invalid", key, kind)
		}
	}
	want := make(map[dibs.FindingKind]int)
	for to, keys := range plan.Groups {
		here := make(map[dibs.FindingKind]int)
		for _, key := range keys {
			kind, found := kinds[keysOf([]model.Key{key})[0]]
			if found != (key != to) {
				w.t.Fatalf("%+v becomes %+v, which is planned as %q", key, to, kind)
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
			w.t.Fatalf("%d names are planned as %s, want %d", got.Counts[kind], kind, want[kind])
		}
	}
}

// interrupt begins to change the rules and stops at a commit. Meanwhile a registry with the old rules
// takes no new names, and its existing names work.
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
		return // the run ended before this commit
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
			continue // quarantined under other rules: no command can name it now
		}
		n, err := was.Get(context.Background(), dibs.Lookup{Namespace: key.Namespace, Value: name.Value})
		if err != nil || n.Entity != name.Shown() || n.Epoch < name.Epoch {
			w.t.Fatalf("%+v while the rules change: %+v, %v; it was %+v", key, n, err, name)
		}
		outcome, _ := w.model.Resolve(w.now, key)
		r, err := was.Resolve(context.Background(), key.Namespace, name.Value)
		// An old name may have been merged with the active name of its entity.
		merged := r.Outcome == dibs.ResolveActive && r.Entity == name.Shown()
		if err != nil || (r.Outcome != outcome && !merged) {
			w.t.Fatalf("%+v while the rules change resolves to %+v, %v; before it was %s", key, r, err, outcome)
		}
		if isLive(name) && rapid.Bool().Draw(w.t, "extend") {
			w.extendMeanwhile(was, key, name)
		}
	}
}

// extendMeanwhile extends a hold by the ID that its holder has.
func (w *world) extendMeanwhile(registry *dibs.Registry, key model.Key, name model.Name) {
	command := dibs.Extend{ID: id(key), Token: name.Token, TTL: dibs.For(20 * time.Second)}
	_, refused := w.model.Apply(bob, w.now, []dibs.Command{command}, false)
	_, err := registry.As(bob).Apply(context.Background(), command)
	if (refused == nil) != (err == nil) {
		w.t.Fatalf("extending %+v while the rules change: %v, expected %+v", key, err, refused)
	}
}
