//go:build unix

package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/embedded"
	"github.com/calldibs/dibs/etcdstore"
	"github.com/calldibs/dibs/internal/archive"
	"github.com/calldibs/dibs/internal/etcdtest"
	_ "github.com/calldibs/dibs/internal/parallel"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/internal/snapshot"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/pgstore"
	"github.com/calldibs/dibs/routestore"
	"github.com/calldibs/dibs/sqlitestore"
)

func TestMain(m *testing.M) { etcdtest.Main(m) }

// engines open empty stores.
var engines = map[string]func(t *testing.T) dibs.Store{
	"memory": func(*testing.T) dibs.Store { return memstore.New(memstore.Config{}) },
	"sqlite": func(t *testing.T) dibs.Store {
		return opened(sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "names.db"), sqlitestore.Config{}))(t)
	},
	"postgres": func(t *testing.T) dibs.Store {
		cluster := pgtest.Shared(t)
		return opened(pgstore.Open(t.Context(), cluster.DSN("postgres"), pgstore.Config{Schema: cluster.NewSchema(t)}))(t)
	},
	"etcd": func(t *testing.T) dibs.Store {
		cluster := etcdtest.Shared(t)
		return opened(etcdstore.Open(t.Context(), etcdstore.Config{Endpoints: cluster.Endpoints(), Prefix: cluster.Prefix(), Timeout: 30 * time.Second}))(t)
	},
	"parts": func(t *testing.T) dibs.Store {
		return opened(routestore.Open(t.Context(), routestore.Config{Routes: []routestore.Route{
			{Name: "acme", Scopes: []string{"acme.*"}, Store: memstore.New(memstore.Config{})},
			{Name: "rest", Scopes: []string{routestore.Everything}, Store: opened(sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "rest.db"), sqlitestore.Config{}))(t)},
		}}))(t)
	},
}

func opened[S dibs.Store](store S, err error) func(t *testing.T) dibs.Store {
	return func(t *testing.T) dibs.Store {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		return store
	}
}

func dump(t *testing.T, store dibs.Store) []byte {
	t.Helper()
	view, err := snapshot.Take(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = view.Close() }()
	var b bytes.Buffer
	if _, err := archive.Dump(t.Context(), view, &b, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func load(ctx context.Context, data []byte, store dibs.Store, o archive.Options) error {
	_, err := archive.Load(ctx, func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }, store, o)
	return err
}

func registryOn(t *testing.T, store dibs.Store) *dibs.Registry {
	t.Helper()
	registry, err := embedded.Open(store, config())
	if err != nil {
		t.Fatal(err)
	}
	return registry.As(dibs.Principal{Name: "operator", Rights: dibs.ActForOthers | dibs.Operate | dibs.OverrideReserved})
}

// pairs are the engines into which the archive of each is loaded: all for one, and for each its own and
// another.
var pairs = map[string][]string{
	"memory":   {"memory", "sqlite", "postgres", "etcd", "parts"},
	"sqlite":   {"sqlite", "postgres"},
	"postgres": {"postgres", "etcd"},
	"etcd":     {"etcd", "sqlite"},
	"parts":    {"parts", "sqlite"},
}

// A registry that was dumped from one engine and loaded into another answers every question alike.
func TestEveryEngineIntoEveryOther(t *testing.T) {
	t.Parallel()
	for from, openSource := range engines {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			source := openSource(t)
			l := live(t, registryOn(t, source), uint64(len(from)))
			data := dump(t, source)
			want := l.answers(t, registryOn(t, source))
			for into, openTarget := range engines {
				if !slices.Contains(pairs[from], into) {
					continue
				}
				t.Run(into, func(t *testing.T) {
					t.Parallel()
					target := openTarget(t)
					var cursors bytes.Buffer
					if err := load(t.Context(), data, target, archive.Options{Cursors: &cursors}); err != nil {
						t.Fatal(err)
					}
					registry := registryOn(t, target)
					compare(t, l.answers(t, registry), want)
					checkCursors(t, registry, registryOn(t, source), cursors.String())
					l.goesOn(t, registry)
				})
			}
		})
	}
}

func compare(t *testing.T, got, want []string) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("the answers differ:\n%s\nwant\n%s", got[i], want[i])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d answers, want %d", len(got), len(want))
	}
}

// checkCursors checks that every cursor of the archive is refused, and that its translation leads to the
// same next event.
func checkCursors(t *testing.T, registry, source *dibs.Registry, table string) {
	t.Helper()
	rows := strings.Split(strings.TrimSpace(table), "\n")[1:]
	if len(rows) < 50 {
		t.Fatalf("%d cursors", len(rows))
	}
	for i, row := range rows {
		if i%40 > 0 && i < len(rows)-1 { // some
			continue
		}
		old, translated, _ := strings.Cut(row, ",")
		if _, err := registry.Events(t.Context(), dibs.FeedQuery{After: dibs.Cursor(old)}); !errors.Is(err, dibs.ErrBadCursor) {
			t.Fatalf("the cursor %q of the archive is answered with %v", old, err)
		}
		want, err := source.Events(t.Context(), dibs.FeedQuery{After: dibs.Cursor(old), Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		got, err := registry.Events(t.Context(), dibs.FeedQuery{After: dibs.Cursor(translated), Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		if g, w := told(got.Events), told(want.Events); !slices.Equal(g, w) {
			t.Fatalf("after %q and %q: %d and %d events follow\n%v\n%v", translated, old, len(g), len(w), g, w)
		}
	}
}

// told returns events as texts without cursors, sorted: parts have an order of their own.
func told(events []dibs.Event) (all []string) {
	for _, e := range events {
		e.Cursor = ""
		all = append(all, fmt.Sprintf("%+v", e))
	}
	slices.Sort(all)
	return all
}

// narrow is a store that takes small groups only.
type narrow struct{ *memstore.Store }

func (n narrow) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	if len(groups[0].Writes)+len(groups[0].Events) > 10 {
		return []dibs.Outcome{dibs.TooLarge}, nil
	}
	return n.Store.Commit(ctx, groups)
}

// A load that is stopped at any place can be begun again, and ends in the same state.
func TestLoadGoesOn(t *testing.T) {
	t.Parallel()
	source := engines["memory"](t)
	l := live(t, registryOn(t, source), 5)
	data := dump(t, source)
	want := l.answers(t, registryOn(t, source))
	items := bytes.Count(data, []byte("\n")) - 2 // without header and end
	for engine, open := range map[string]func() dibs.Store{
		"one": func() dibs.Store { return narrow{memstore.New(memstore.Config{})} },
		"parts": func() dibs.Store {
			return opened(routestore.Open(t.Context(), routestore.Config{Routes: []routestore.Route{
				{Name: "acme", Scopes: []string{"acme.*"}, Store: narrow{memstore.New(memstore.Config{})}},
				{Name: "rest", Scopes: []string{routestore.Everything}, Store: narrow{memstore.New(memstore.Config{})}},
			}}))(t)
		},
	} {
		for stop := 0; stop < items; stop += items / 20 {
			target := open()
			ctx, cancel := context.WithCancel(t.Context())
			err := load(ctx, data, target, archive.Options{Progress: func(done int) {
				if done >= stop {
					cancel()
				}
			}})
			cancel()
			if err == nil {
				t.Fatalf("%s: stopped after %d items, and done", engine, stop)
			}
			if err := load(t.Context(), data, target, archive.Options{}); err != nil {
				t.Fatalf("%s, stopped after %d items: %v", engine, stop, err)
			}
			compare(t, l.answers(t, registryOn(t, target)), want)
			if err := load(t.Context(), data, target, archive.Options{}); !errors.Is(err, snapshot.ErrNotEmpty) {
				t.Fatalf("a second load: %v", err)
			}
		}
	}
}

// An archive that is not whole, or not as it was made, is refused before anything is written.
func TestBadArchives(t *testing.T) {
	t.Parallel()
	source := engines["memory"](t)
	live(t, registryOn(t, source), 3)
	data := dump(t, source)
	lines := bytes.SplitAfter(data, []byte("\n"))
	changed := bytes.Replace(data, []byte(`"state":"active"`), []byte(`"state":"free"`), 1)
	for says, bad := range map[string][]byte{
		"it is empty":                      nil,
		"it is not an archive":             []byte("id,name\n1,alice\n"),
		"it is compressed":                 {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, '\n'},
		"version 2":                        bytes.Replace(data, []byte(`"version":1`), []byte(`"version":2`), 1),
		"cut off after line 1":             lines[0],
		"cut off":                          data[:len(data)-20],
		"the last line is missing":         bytes.Join(lines[:len(lines)-2], nil),
		"changed or damaged":               changed,
		"was changed or damaged: the SHA-": bytes.Join(slices.Delete(slices.Clone(lines), 5, 6), nil),
		"something follows":                append(bytes.Clone(data), data...),
	} {
		store := memstore.New(memstore.Config{})
		err := load(t.Context(), bad, store, archive.Options{})
		if !errors.Is(err, archive.ErrArchive) || !strings.Contains(fmt.Sprint(err), says) {
			t.Errorf("%v, want %q in it", err, says)
		}
		if err := load(t.Context(), data, store, archive.Options{}); err != nil {
			t.Errorf("after %q: %v", says, err)
		}
	}
}

// An archive that cannot be read, or ends early, in any of the passes over it ends the load with an error.
func TestArchiveChangesMeanwhile(t *testing.T) {
	t.Parallel()
	source := engines["memory"](t)
	live(t, registryOn(t, source), 3)
	data := dump(t, source)
	header := data[:bytes.IndexByte(data, '\n')+1]
	for name, bad := range map[string]func() io.Reader{
		"an error at once":       func() io.Reader { return iotest.ErrReader(io.ErrUnexpectedEOF) },
		"an error in the end":    func() io.Reader { return io.MultiReader(bytes.NewReader(data), iotest.ErrReader(io.ErrUnexpectedEOF)) },
		"the header alone":       func() io.Reader { return bytes.NewReader(header) },
		"half of the archive":    func() io.Reader { return bytes.NewReader(data[:len(data)/2]) },
		"no byte of the archive": func() io.Reader { return bytes.NewReader(nil) },
	} {
		for failing := 1; ; failing++ {
			store, passes := memstore.New(memstore.Config{}), 0
			var cursors bytes.Buffer
			_, err := archive.Load(t.Context(), func() (io.ReadCloser, error) {
				if passes++; passes == failing {
					return io.NopCloser(bad()), nil
				}
				return io.NopCloser(bytes.NewReader(data)), nil
			}, store, archive.Options{Cursors: &cursors})
			if passes < failing {
				if err != nil || passes < 3 {
					t.Errorf("%d passes: %v", passes, err)
				}
				break
			}
			if err == nil && (name != "an error in the end" || failing < 3) { // the last pass ends behind the events
				t.Errorf("%s in pass %d of %d: the load succeeds, with %d bytes of cursors", name, failing, passes, cursors.Len())
			}
		}
	}
}

// reversed is a store that mixes up the order of events.
type reversed struct{ *memstore.Store }

func (r reversed) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	groups = slices.Clone(groups)
	groups[0].Events = slices.Clone(groups[0].Events)
	slices.Reverse(groups[0].Events)
	return r.Store.Commit(ctx, groups)
}

// The last comparison sees the order of events, on which cursors rely.
func TestLoadComparesTheOrder(t *testing.T) {
	t.Parallel()
	source := engines["memory"](t)
	live(t, registryOn(t, source), 3)
	if err := load(t.Context(), dump(t, source), reversed{memstore.New(memstore.Config{})}, archive.Options{}); err == nil || !strings.Contains(err.Error(), "differs") {
		t.Errorf("the order of events is another one: %v", err)
	}
}

// Every field of every record and event comes back.
func TestEveryField(t *testing.T) {
	t.Parallel()
	store := memstore.New(memstore.Config{})
	n, e, d, ev := new(dibs.NameRecord), new(dibs.EntityRecord), new(dibs.Document), new(dibs.Event)
	for i, v := range []any{n, e, d, ev} {
		seed := 10 * i
		set(reflect.ValueOf(v).Elem(), &seed)
	}
	n.Namespace, n.Scope, ev.ID, ev.Cursor, d.Kind = "acme.slug", "acme", n.ID, "", "odd"
	group := dibs.Group{Events: []dibs.Event{*ev}}
	for _, r := range []dibs.Record{n, e, d} {
		group.Reads = append(group.Reads, dibs.Read{Ref: r.Ref()})
		group.Writes = append(group.Writes, dibs.Write{Record: r, Was: dibs.Free})
	}
	if _, err := store.Commit(t.Context(), []dibs.Group{group}); err != nil {
		t.Fatal(err)
	}
	target := memstore.New(memstore.Config{})
	if err := load(t.Context(), dump(t, store), target, archive.Options{}); err != nil {
		t.Fatal(err)
	}
	found, err := target.Load(t.Context(), []dibs.Ref{n.Ref(), e.Ref(), d.Ref()})
	if err != nil || !reflect.DeepEqual(found.Records, []dibs.Record{n, e, d}) {
		t.Errorf("%+v, %v", found.Records, err)
	}
	events, err := target.Events(t.Context(), dibs.EventQuery{Limit: 9})
	if events[0].Cursor = ""; err != nil || !reflect.DeepEqual(events, []dibs.Event{*ev}) {
		t.Errorf("%+v, %v", events, err)
	}
}

// set sets all fields of a value to something other than zero.
func set(v reflect.Value, seed *int) {
	*seed++
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			set(field, seed)
		}
	case reflect.String:
		v.SetString(fmt.Sprintf("tëxt <%d>", *seed))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*seed) * 1_000_000)
	case reflect.Uint64, reflect.Uint8:
		v.SetUint(uint64(*seed%200 + 1))
	case reflect.Array:
		for i := range v.Len() {
			set(v.Index(i), seed)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		set(v.Index(0), seed)
		set(v.Index(1), seed)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		set(key, seed)
		set(value, seed)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	default:
		panic(v.Kind())
	}
}
