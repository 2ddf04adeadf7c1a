package model_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/model"
)

// TestModel runs the same history on a registry and the model.
func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { live(t, false) })
}

// TestSweepingChangesNothing does the same with two registries: one is swept after
// every step and the other never.
func TestSweepingChangesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { live(t, true) })
}

func live(t *rapid.T, metamorphic bool) {
	w := newWorld(t, metamorphic)
	defer w.close()
	w.live(metamorphic)
}

// live draws steps and takes them.
func (w *world) live(metamorphic bool) {
	t := w.t
	apply := func(*rapid.T) { w.apply(false, w.drawCommand()) }
	wait := func(*rapid.T) {
		w.now = w.drawMoment()
		t.Logf("now: %s", w.since(w.now))
	}
	// More frequent steps are listed several times.
	steps := map[string]func(*rapid.T){
		"":        func(*rapid.T) { w.observe() },
		"apply 1": apply, "apply 2": apply, "apply 3": apply, "apply 4": apply,
		"wait 1": wait, "wait 2": wait,
		"dry run": func(*rapid.T) { w.apply(true, w.drawCommand()) },
		"list": func(*rapid.T) {
			w.apply(rapid.IntRange(0, 4).Draw(t, "dry") == 4, w.drawCommand(), w.drawCommand(), w.drawCommand())
		},
	}
	if len(w.orders) > 0 {
		steps["rotate"] = func(*rapid.T) { w.rotate() }
	}
	steps["forget"] = func(*rapid.T) { w.forget() }
	if !metamorphic {
		steps["sweep"] = func(*rapid.T) { w.sweep(w.sides[0], true) }
		steps["sweep once"] = func(*rapid.T) { w.sweep(w.sides[0], false) }
		steps["witness"] = func(*rapid.T) { w.instructWitness() }
	}
	t.Repeat(steps)
	for _, s := range w.sides {
		w.reread(s)
	}
}

// observe compares everything visible, on every side.
func (w *world) observe() {
	w.observed++
	want := w.expected()
	for _, s := range w.sides {
		if s.swept {
			w.sweep(s, true)
		}
		w.compare("the registry differs from the model", want, w.seen(s))
		w.checkLookAlikes(s)
		w.askTheRest(s)
		s.feed.read(w, s.registry)
	}
	w.askWhoHeld()
	w.checkDryRun()
}

// apply applies a list of commands to the model and every side.
func (w *world) apply(dryRun bool, commands ...dibs.Command) {
	principal := draw(w, "principal", principals...)
	w.t.Logf("%s asks, dry run %v:", principal.Name, dryRun)
	for _, c := range commands {
		w.t.Logf("    %s", w.describe(c))
	}
	results, refused := w.model.Apply(principal, w.now, commands, dryRun)
	replayed := !slices.ContainsFunc(results, func(r model.Result) bool { return !r.Replayed })
	for _, s := range w.sides {
		registry := s.registry.As(principal)
		do := registry.Apply
		if dryRun {
			do = registry.DryRun
		}
		s.feed.read(w, s.registry)
		understood := make([]dibs.Command, len(commands))
		for i, c := range commands {
			understood[i] = w.addressed(s, c)
		}
		got, err := do(context.Background(), understood...)
		w.compare("the answer differs from the model's", w.answer(results, refused, commands), w.answered(got, err, commands))
		if refused != nil || dryRun || replayed {
			// The next observe checks that names and entities are unchanged: the model
			// has not changed.
			if news := s.feed.read(w, s.registry); len(news) > 0 {
				w.t.Fatalf("a request without changes emitted %d events, the first is %s of %s", len(news), news[0].Kind, news[0].Key())
			}
		}
	}
}

// answer is the model's answer to a list, as text: one line for a refusal, or one for
// each command.
func (w *world) answer(results []model.Result, refused *model.Refusal, commands []dibs.Command) []string {
	if refused != nil {
		return []string{fmt.Sprintf("refused: %s %s%s", refused.Code, refused.Reason, partsOf(refused))}
	}
	line := "done:"
	for i, r := range results {
		line += fmt.Sprintf(" replayed %v %s version %d freed %v locked %v;",
			r.Replayed, keysOf(r.Keys), w.versionAfter(commands[i], r.Version), keysOf(r.Freed), keysOf(r.Locked))
	}
	return []string{line}
}

func (w *world) answered(results []dibs.Result, err error, commands []dibs.Command) []string {
	if err != nil {
		e, ok := errors.AsType[*dibs.Error](err)
		if !ok {
			return []string{err.Error()}
		}
		return []string{fmt.Sprintf("refused: %s %s%s", e.Code, e.Reason, failuresOf(e))}
	}
	line := "done:"
	for i, r := range results {
		var names []string
		for _, n := range r.Names {
			names = append(names, plainKey(n.Key()))
		}
		line += fmt.Sprintf(" replayed %v %s version %d freed %v locked %v;",
			r.Replayed, names, w.versionAfter(commands[i], r.Version), plainKeys(r.Freed), plainKeys(r.Quarantined))
	}
	return []string{line}
}

// versionAfter is the version that a command returned, if the command is of one entity.
func (w *world) versionAfter(command dibs.Command, version uint64) uint64 {
	switch c := command.(type) {
	case dibs.Claim:
		return w.version(scopes[c.Namespace], version)
	case dibs.Import:
		return w.version(scopes[c.Namespace], version)
	case dibs.Rename:
		return w.version(scopes[c.Namespace], version)
	case dibs.Decommission:
		return w.version(scopes[c.Namespace], version)
	case dibs.Archive:
		return w.version(c.Scope, version)
	case dibs.Restore:
		return w.version(c.Scope, version)
	case dibs.Delete:
		return w.version(c.Scope, version)
	}
	return 0
}

func keysOf(keys []model.Key) []string {
	var texts []string
	for _, key := range keys {
		texts = append(texts, key.Namespace+":"+key.Canonical)
	}
	return texts
}

// partsOf formats the refused parts of a list, recursively.
func partsOf(refused *model.Refusal) string {
	text := ""
	for i := range 32 {
		if part, ok := refused.Parts[i]; ok {
			text += fmt.Sprintf(" (%d: %s %s%s)", i, part.Code, part.Reason, partsOf(part))
		}
	}
	return text
}

func failuresOf(e *dibs.Error) string {
	text := ""
	for _, f := range e.Failures {
		text += fmt.Sprintf(" (%d: %s %s%s)", f.Index, f.Err.Code, f.Err.Reason, failuresOf(f.Err))
	}
	return text
}

// set sets a flag for the rest of a test, which does not run in parallel with others.
func set(t *testing.T, name, value string) {
	t.Helper()
	before := flag.Lookup(name).Value.String()
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = flag.Set(name, before) })
}

// setChecks sets how many histories rapid draws in the rest of a test.
func setChecks(t *testing.T, n int) {
	t.Helper()
	if testing.Short() {
		n *= 5 // of which rapid draws a fifth
	}
	set(t, "rapid.checks", strconv.Itoa(n))
}
