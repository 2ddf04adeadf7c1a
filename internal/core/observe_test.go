package core_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/sqlitestore"
)

// above is the context key of the path of the work that a context belongs to.
type above struct{}

func aboveOf(ctx context.Context) string {
	path, _ := ctx.Value(above{}).(string)
	return path
}

// workLog records work by its path, such as "reserve/batch/commit".
type workLog struct {
	mu    sync.Mutex
	begun []dibs.Work
	paths []string
	errs  map[string]error
	open  int
}

func (l *workLog) begin(ctx context.Context, work dibs.Work) (context.Context, func(error)) {
	path := aboveOf(ctx)
	if len(work.Callers) > 0 {
		path = aboveOf(work.Callers[0])
	}
	path = strings.TrimPrefix(path+"/"+work.Op, "/")
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun, l.paths, l.open = append(l.begun, work), append(l.paths, path), l.open+1
	return context.WithValue(ctx, above{}, path), func(err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.open--
		l.errs[path] = err
	}
}

// finished closes the registry and returns all paths. All work must have ended.
func (l *workLog) finished(t *testing.T, registry *dibs.Registry) []string {
	t.Helper()
	if err := registry.Close(); err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open != 0 {
		t.Errorf("%d pieces of work never ended", l.open)
	}
	return l.paths
}

func newWorkLog() *workLog { return &workLog{errs: make(map[string]error)} }

func TestObserverBegin(t *testing.T) {
	t.Parallel()
	log := newWorkLog()
	registry := coretest.MustOpen(t, memstore.New(memstore.Config{}), dibs.Config{Observer: dibs.Observer{Begin: log.begin}})
	ctx := t.Context()
	if _, err := registry.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "a"}); err != nil {
		t.Fatal(err)
	}
	if _, err := registry.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "a"}); !errors.Is(err, dibs.ErrNameTaken) {
		t.Fatal(err)
	}
	if _, err := registry.Resolve(ctx, "slug", "b"); err != nil {
		t.Fatal(err)
	}
	if _, err := registry.Sweep(ctx, 10); err != nil {
		t.Fatal(err)
	}
	paths := log.finished(t, registry)
	for _, want := range []string{"reserve", "reserve/batch", "reserve/batch/load", "reserve/batch/commit", "resolve", "resolve/load", "sweep", "sweep/due"} {
		if !slices.Contains(paths, want) {
			t.Errorf("the observer was not told of %s, but of %q", want, paths)
		}
	}
	if !errors.Is(log.errs["reserve"], dibs.ErrNameTaken) {
		t.Errorf("the last reserve ended with %v", log.errs["reserve"])
	}
	for _, work := range log.begun {
		if work.Op == "reserve" && (work.Namespace != "slug" || work.Size != 1 || work.Kind != dibs.WorkCall) {
			t.Errorf("the work of a reserve is %+v", work)
		}
	}
}

// The work of a batch lists the contexts of its callers.
func TestObserverGetsTheCallersOfABatch(t *testing.T) {
	t.Parallel()
	log := newWorkLog()
	registry := coretest.MustOpen(t, memstore.New(memstore.Config{}), dibs.Config{Observer: dibs.Observer{Begin: log.begin}})
	const callers = 64
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			ctx := context.WithValue(t.Context(), above{}, "caller")
			if _, err := registry.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: string(rune('a'+i%26)) + string(rune('a'+i/26))}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	log.finished(t, registry)
	shared := 0
	for _, work := range log.begun {
		if work.Kind != dibs.WorkBatch {
			continue
		}
		if len(work.Callers) != work.Size {
			t.Errorf("a batch of %d has %d callers", work.Size, len(work.Callers))
		}
		for _, ctx := range work.Callers {
			if ctx != nil && strings.HasPrefix(aboveOf(ctx), "caller/reserve") {
				shared++
			}
		}
	}
	if shared < callers {
		t.Errorf("batches list %d callers, want %d", shared, callers)
	}
}

// The optional interfaces of an engine work when it is observed.
func TestObservedStoreKeepsItsInterfaces(t *testing.T) {
	t.Parallel()
	log := newWorkLog()
	store, err := sqlitestore.Open(t.Context(), t.TempDir()+"/names.db", sqlitestore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	registry := coretest.MustOpen(t, store, dibs.Config{Observer: dibs.Observer{Begin: log.begin}})
	bound := registry.InTransaction(func(s dibs.Store) (dibs.Store, error) {
		if s != dibs.Store(store) {
			t.Errorf("a transaction is bound to %T", s)
		}
		return s, nil
	})
	if _, err := bound.Get(t.Context(), dibs.Lookup{Namespace: "slug", Value: "x"}); !errors.Is(err, dibs.ErrNotFound) {
		t.Errorf("in a transaction: %v", err)
	}
	if err := registry.SetPolicies(nil, dibs.Policy{}); err != nil {
		t.Error(err)
	}
	if _, err := registry.Policy("slug"); err != nil {
		t.Error(err)
	}
	// The second new name of a namespace is guessed, which needs the engine's clock.
	for _, value := range []string{"a", "b"} {
		if _, err := registry.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: value}); err != nil {
			t.Fatal(err)
		}
	}
	paths := log.finished(t, registry)
	loads := 0
	for _, path := range paths {
		if path == "reserve/batch/load" {
			loads++
		}
	}
	if loads != 1 {
		t.Errorf("two reserves took %d loads: %q", loads, paths)
	}
}

// The observer is told of every call of a witness.
func TestObserverWitness(t *testing.T) {
	t.Parallel()
	var (
		mu   sync.Mutex
		seen = make(map[string]string)
	)
	clock := coretest.NewClock()
	store := memstore.New(memstore.Config{Now: clock.Now})
	says := map[string]func() (dibs.Verdict, error){
		"exists": func() (dibs.Verdict, error) { return dibs.Exists(coretest.User1), nil },
		"absent": func() (dibs.Verdict, error) { return dibs.Absent, nil },
		"fails":  func() (dibs.Verdict, error) { return dibs.Absent, errors.New("no line") },
		"panics": func() (dibs.Verdict, error) { panic("no") },
	}
	reg := coretest.MustOpen(t, store, dibs.Config{
		Default: dibs.Policy{Witness: func(_ context.Context, hold dibs.SuspectHold) (dibs.Verdict, error) { return says[hold.Value]() }},
		Observer: dibs.Observer{Witness: func(info dibs.WitnessInfo) {
			mu.Lock()
			defer mu.Unlock()
			outcome, _ := info.Verdict.Outcome()
			if info.Err != nil {
				outcome = "failed"
			}
			seen[info.Hold.Value] = outcome
		}},
	})
	for value := range says {
		coretest.MustReserve(t, reg, value)
	}
	clock.Advance(time.Hour)
	if _, err := reg.Sweep(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{"exists": "exists", "absent": "absent", "fails": "failed", "panics": "failed"} {
		if seen[value] != want {
			t.Errorf("%s: the observer was told %q", value, seen[value])
		}
	}
}
