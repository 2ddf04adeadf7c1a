package core_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/sqlitestore"
)

// above is the key under which a context has the names of the work that it is part of.
type above struct{}

func aboveOf(ctx context.Context) string {
	path, _ := ctx.Value(above{}).(string)
	return path
}

// workLog notes work, each with what it is part of: "reserve/batch/commit".
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

// settled returns what was noted once all of it has ended.
func (l *workLog) settled(t *testing.T, registry *dibs.Registry) []string {
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

func TestObserverIsToldWhenWorkBegins(t *testing.T) {
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
	paths := log.settled(t, registry)
	for _, want := range []string{"reserve", "reserve/batch", "reserve/batch/load", "reserve/batch/commit", "resolve", "resolve/load", "sweep", "sweep/due"} {
		if !slices.Contains(paths, want) {
			t.Errorf("nobody was told of %s, but of %q", want, paths)
		}
	}
	if !errors.Is(log.errs["reserve"], dibs.ErrNameTaken) {
		t.Errorf("the last reserve ended with %v", log.errs["reserve"])
	}
	for _, work := range log.begun {
		if work.Op == "reserve" && (work.Namespace != "slug" || work.Size != 1 || work.Kind != dibs.WorkCall) {
			t.Errorf("of a reserve it is told %+v", work)
		}
	}
}

// A batch is told whose it is, and has none of their contexts.
func TestObserverKnowsWhoSharesABatch(t *testing.T) {
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
	log.settled(t, registry)
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
		t.Errorf("batches knew %d callers of %d", shared, callers)
	}
}

// What an engine can do beside its work it can do when it is observed.
func TestObservedRegistryKeepsWhatItCan(t *testing.T) {
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
	// A second fresh name of a namespace is guessed, which takes the engine's clock.
	for _, value := range []string{"a", "b"} {
		if _, err := registry.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: value}); err != nil {
			t.Fatal(err)
		}
	}
	paths := log.settled(t, registry)
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
