//go:build unix

package crashtest_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/embedded"
	"github.com/calldibs/dibs/internal/harness"
	"github.com/calldibs/dibs/internal/snapshot"
	"github.com/calldibs/dibs/internal/verify"
)

// beginning is when every flow begins, by the clock of its engine.
var beginning = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world is what one process of a flow works with. A check that fails ends the process, or the test.
type world struct {
	harness.TB
	flow *flow
	site site
	dir  string // the rest of the world: what the program keeps outside of the registry
	life *life  // nil in processes that are not killed

	later time.Duration // than the beginning
	reg   *dibs.Registry
	open  map[string]dibs.Store
	end   map[string][]string // what the stores have in the end, of a flow that always ends the same
	txs   []transaction
}

func (w *world) ctx() context.Context { return w.Context() }

// must ends the process after an error.
func must[T any](w *world) func(T, error) T {
	return func(result T, err error) T {
		w.Helper()
		if err != nil {
			w.Fatalf("%v", err)
		}
		return result
	}
}

func (w *world) check(err error) {
	w.Helper()
	if err != nil {
		w.Fatalf("%v", err)
	}
}

// store opens one of the stores of the site, unless it is open.
func (w *world) store(name string) dibs.Store {
	w.Helper()
	if store, is := w.open[name]; is {
		return store
	}
	frozen := beginning.Add(w.later)
	if w.flow.running {
		frozen = time.Time{}
	}
	store, err := engines[w.site.Engine].open(w.ctx(), w.site.Address, name, frozen, w.later)
	w.check(err)
	if w.life != nil {
		store = newMortal(store, w.life)
	}
	if w.open == nil {
		w.open = make(map[string]dibs.Store)
	}
	w.open[name] = store
	return store
}

// registry returns the registry on the store "names".
func (w *world) registry() *dibs.Registry {
	w.Helper()
	if w.reg == nil {
		w.reg = w.registryOn("names")
	}
	return w.reg
}

func (w *world) registryOn(name string) *dibs.Registry {
	w.Helper()
	cfg := dibs.Config{Policies: w.flow.policies(w), SweepEvery: -1, Suggestions: -1}
	if w.flow.small {
		cfg.MaxBatch, cfg.Writers = 2, 1
	}
	return must[*dibs.Registry](w)(embedded.Open(w.store(name), cfg))
}

// close closes the registry, all stores and transactions, as a process does that ends in order.
func (w *world) close() {
	w.Helper()
	if w.reg != nil {
		w.check(w.reg.Close())
		w.reg = nil
	}
	for _, store := range w.open {
		w.check(store.Close())
	}
	for _, tx := range w.txs {
		tx.close()
	}
	w.open, w.txs = nil, nil
}

// wait lets time pass.
func (w *world) wait(d time.Duration) {
	w.Helper()
	w.close()
	w.later += d
}

// save saves something outside of the registry, which is a step of its own. What is saved already
// stays.
func (w *world) save(name, content string) {
	w.Helper()
	w.check(doOnly(w.life, write("save "+name), func() error {
		if _, saved := w.saved(name); saved {
			return nil
		}
		path := filepath.Join(w.dir, name)
		if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
			return err
		}
		return os.Rename(path+".new", path)
	}))
}

// saved returns what save saved.
func (w *world) saved(name string) (content string, ok bool) {
	w.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.Fatal(err)
	}
	return string(data), err == nil
}

// tell is what the program tells its own caller, and may not be wrong later.
func (w *world) tell(what string) {
	w.Helper()
	w.check(os.WriteFile(filepath.Join(w.dir, "told "+what), nil, 0o600))
}

func (w *world) told(what string) bool {
	w.Helper()
	_, told := w.saved("told " + what)
	return told
}

// sweep sweeps until there is nothing to sweep.
func (w *world) sweep() {
	w.Helper()
	for more := true; more; {
		more = must[dibs.SweepReport](w)(w.registry().Sweep(w.ctx(), 1000)).More
	}
}

// name returns a name; one without a row is free.
func (w *world) name(namespace, value string) dibs.Name {
	w.Helper()
	name, err := w.registry().Get(w.ctx(), dibs.Lookup{Namespace: namespace, Value: value})
	if errors.Is(err, dibs.ErrNotFound) {
		return dibs.Name{State: dibs.Free}
	}
	return must[dibs.Name](w)(name, err)
}

// wantOwned demands that a name is the active one of an entity.
func (w *world) wantOwned(namespace, value string, entity dibs.Entity) {
	w.Helper()
	if n := w.name(namespace, value); n.State != dibs.Active || n.Entity != entity {
		w.Errorf("%s:%s is %s of %q; it must be the active name of %s", namespace, value, n.State, n.Entity, entity)
	}
}

// wantAvailable demands that a stranger can have a name.
func (w *world) wantAvailable(namespace, value string) {
	w.Helper()
	stranger := dibs.Entity{Type: "stranger", ID: namespace + "-" + value}
	if _, err := w.registry().Claim(w.ctx(), dibs.Claim{Namespace: namespace, Value: value, Entity: stranger}); err != nil {
		w.Errorf("%s:%s is blocked for ever: %v", namespace, value, err)
	}
}

// wantAllAvailable demands that many names are available.
func (w *world) wantAllAvailable(namespace string, values []string) {
	w.Helper()
	checks := must[[]dibs.Availability](w)(w.registry().Check(w.ctx(), dibs.CheckRequest{Namespace: namespace, Values: values}))
	for i, c := range checks {
		if !c.Available {
			w.Errorf("%s:%s is blocked for ever: %s", namespace, values[i], c.Reason)
		}
	}
	w.wantAvailable(namespace, values[0])
}

// wantOnce demands that the history of a name has at most one event of a kind.
func (w *world) wantOnce(namespace, value string, kind dibs.EventKind) {
	w.Helper()
	history := must[[]dibs.Event](w)(w.registry().History(w.ctx(), namespace, value))
	n := 0
	for i := range history {
		if history[i].Kind == kind {
			n++
		}
	}
	if n > 1 {
		w.Errorf("%s:%s was %s %d times", namespace, value, kind, n)
	}
}

// dump returns everything that a store has, in lines: its records and its events. Cursors are left out, since they are positions of the engine; and so are counters of activity, which
// a process that is killed has not written.
func (w *world) dump(name string) (lines []string) {
	w.Helper()
	view := must[snapshot.View](w)(snapshot.Take(w.ctx(), w.store(name)))
	defer func() { _ = view.Close() }()
	add := func(kind any, thing any) {
		lines = append(lines, fmt.Sprint(kind, " ", string(must[[]byte](w)(json.Marshal(thing)))))
	}
	for _, table := range snapshot.Tables {
		for r, err := range view.Records(w.ctx(), table) {
			w.check(err)
			kind := r.Ref().Kind
			if d, ok := r.(*dibs.Document); ok && kind == dibs.KindNamespace {
				d.Rev = 0 // a second run of Recanonicalize takes over from the first, by one more write
			}
			if !snapshot.IsLocal(r) && kind != dibs.KindActivity && kind != dibs.KindTally {
				add(kind, r)
			}
		}
	}
	for _, e := range w.events(view) {
		add(e.Kind, e)
	}
	return lines
}

// events returns all events without their cursors, those of each name and each entity together. Which
// name comes first is not promised.
func (w *world) events(view snapshot.View) (events []dibs.Event) {
	w.Helper()
	for e, err := range view.Events(w.ctx(), "") {
		w.check(err)
		e.Cursor = ""
		events = append(events, e)
	}
	slices.SortStableFunc(events, func(a, b dibs.Event) int {
		return cmp.Or(bytes.Compare(a.ID[:], b.ID[:]), cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Entity.String(), b.Entity.String()))
	})
	return events
}

// wantSound demands that a store agrees with itself, as dibs verify does, except for some of its checks.
func (w *world) wantSound(name string, except ...string) {
	w.Helper()
	view := must[snapshot.View](w)(snapshot.Take(w.ctx(), w.store(name)))
	defer func() { _ = view.Close() }()
	_, err := verify.Store(w.ctx(), view, verify.Options{
		Policies: w.flow.policies(w), Slack: -1,
		Found: func(f verify.Finding) error {
			if !slices.Contains(except, f.Check) {
				w.Errorf("%s: %s: %s (found %s, expected %s)", f.Check, f.Where(), f.Problem, f.Found, f.Expected)
			}
			return nil
		},
	})
	w.check(err)
}

// difference returns the lines in which two dumps differ.
func difference(got, want []string) string {
	if slices.Equal(got, want) {
		return ""
	}
	var lines []string
	for _, line := range got {
		if !slices.Contains(want, line) {
			lines = append(lines, "  has    "+line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			lines = append(lines, "  lacks  "+line)
		}
	}
	if len(lines) == 0 {
		lines = []string{"  another order: " + strings.Join(got, "\n    ")}
	}
	return strings.Join(lines, "\n")
}
