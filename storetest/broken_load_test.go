package storetest

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/calldibs/dibs"
)

// moment is long enough for another goroutine to run in between.
const moment = 500 * time.Microsecond

// answering breaks Load: it changes the result.
func answering(change func(refs []dibs.Ref, s *dibs.LoadResult)) breakage {
	return func(f *fake, _ *Clock) {
		good := f.load
		f.load = func(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
			s, err := good(ctx, refs)
			change(refs, &s)
			return s, err
		}
	}
}

// spelling breaks Load: it changes the text of names.
func spelling(change func(string) string) breakage {
	return answering(func(_ []dibs.Ref, s *dibs.LoadResult) {
		for _, record := range s.Records {
			if n, ok := record.(*dibs.NameRecord); ok {
				n.Canonical, n.Value = change(n.Canonical), change(n.Value)
			}
		}
	})
}

func brokenLoads() []broken {
	return []broken{
		{must: "load-snapshot", how: "loads one record after another", apply: func(f *fake, _ *Clock) {
			good := f.load
			f.load = func(ctx context.Context, refs []dibs.Ref) (all dibs.LoadResult, err error) {
				for _, ref := range refs {
					one, err := good(ctx, []dibs.Ref{ref})
					if err != nil {
						return all, err
					}
					all.Now, all.Records = one.Now, append(all.Records, one.Records...)
					time.Sleep(moment)
				}
				return all, nil
			}
		}},
		{must: "load-fresh", how: "answers from a cache", apply: func(f *fake, _ *Clock) {
			good := f.load
			var cache sync.Map
			f.load = func(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
				s, err := good(ctx, refs)
				if err == nil && len(refs) == 1 {
					if former, ok := cache.Swap(refs[0], s); ok {
						return former.(dibs.LoadResult), nil
					}
				}
				return s, err
			}
		}},
		{must: "load-fresh", how: "reports a commit that it dropped", apply: func(f *fake, _ *Clock) {
			f.commit = func(_ context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
				outcomes := make([]dibs.Outcome, len(groups))
				for i := range outcomes {
					outcomes[i] = dibs.Committed
				}
				return outcomes, nil
			}
		}},
		{must: "load-exact", how: "lower-cases", apply: spelling(strings.ToLower)},
		{must: "load-exact", how: "trims", apply: spelling(strings.TrimSpace)},
		{must: "load-exact", how: "trims trailing spaces, as CHAR columns do", apply: spelling(func(s string) string { return strings.TrimRight(s, " ") })},
		{must: "load-exact", how: "composes accents", apply: spelling(func(s string) string { return strings.ReplaceAll(s, "e\u0301", "\u00e9") })},
		{must: "load-exact", how: "drops zero-width characters", apply: spelling(func(s string) string { return strings.ReplaceAll(s, "\u200b", "") })},
		{must: "load-exact", how: "cuts at 255 bytes", apply: spelling(func(s string) string { return s[:min(len(s), 255)] })},
		{must: "load-exact", how: "has a unique index that ignores case", apply: collating(strings.ToLower)},
		{must: "load-exact", how: "has a unique index that ignores trailing spaces", apply: collating(func(s string) string { return strings.TrimRight(s, " ") })},
		{must: "load-kind", how: "ignores the kind of a ref", apply: kindless},
		{must: "load-kind", how: "refuses unknown kinds", apply: func(f *fake, _ *Clock) {
			good := f.commit
			f.commit = func(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
				for _, w := range groups[0].Writes {
					switch w.Record.Ref().Kind {
					case dibs.KindName, dibs.KindEntity, dibs.KindNamespace, dibs.KindQuota, dibs.KindTally:
					default:
						return nil, errors.New("unknown kind")
					}
				}
				return good(ctx, groups)
			}
		}},
		{must: "load-absent", how: "returns a record that does not exist", apply: answering(func(refs []dibs.Ref, s *dibs.LoadResult) {
			if len(s.Records) < len(refs) {
				s.Records = append(s.Records, &dibs.NameRecord{ID: refs[0].ID, Scope: refs[0].Scope})
			}
		})},
		{must: "load-absent", how: "answers a repeated ref inconsistently", apply: answering(func(_ []dibs.Ref, s *dibs.LoadResult) {
			for i, record := range s.Records {
				if n, ok := record.(*dibs.NameRecord); ok {
					n.Rev += uint64(i)
				}
			}
		})},
		{must: "load-absent", how: "loads only the first hundred refs", apply: func(f *fake, _ *Clock) {
			good := f.load
			f.load = func(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
				return good(ctx, refs[:min(len(refs), 100)])
			}
		}},
		{must: "load-now", how: "does not return the engine's clock", apply: answering(func(_ []dibs.Ref, s *dibs.LoadResult) {
			s.Now = dibs.InstantOf(time.Now())
		})},
		{must: "load-now", how: "rounds up", apply: func(f *fake, clock *Clock) {
			answering(func(_ []dibs.Ref, s *dibs.LoadResult) {
				s.Now = dibs.InstantOf(clock.Now().Add(time.Millisecond - 1))
			})(f, clock)
		}},
		{must: "load-now", how: "uses different clocks in Load and Commit", apply: windowed(func(w *dibs.Window) { w.From++ })},
	}
}

// collating breaks Commit: its index treats some different values as equal.
func collating(fold func(string) string) breakage {
	return func(f *fake, _ *Clock) {
		good := f.commit
		f.commit = func(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
			for _, w := range groups[0].Writes {
				n, ok := w.Record.(*dibs.NameRecord)
				for _, other := range allNames(f.data) {
					if ok && other.ID != n.ID && fold(other.Key()) == fold(n.Key()) {
						return make([]dibs.Outcome, len(groups)), nil
					}
				}
			}
			return good(ctx, groups)
		}
	}
}

// kindless breaks a store: documents of all kinds share their IDs.
func kindless(f *fake, clock *Clock) {
	one := func(ref dibs.Ref) dibs.Ref {
		if ref.Kind != dibs.KindName && ref.Kind != dibs.KindEntity {
			ref.Kind = "document"
		}
		return ref
	}
	committing(func(g *dibs.Group) {
		for i := range g.Reads {
			g.Reads[i].Ref = one(g.Reads[i].Ref)
		}
		for i, w := range g.Writes {
			if d, ok := w.Record.(*dibs.Document); ok {
				c := *d
				c.Kind = "document"
				g.Writes[i].Record = &c
			}
		}
	})(f, clock)
	good := f.load
	f.load = func(ctx context.Context, refs []dibs.Ref) (all dibs.LoadResult, err error) {
		for _, ref := range refs {
			s, err := good(ctx, []dibs.Ref{one(ref)})
			if err != nil {
				return all, err
			}
			for _, record := range s.Records {
				if d, ok := record.(*dibs.Document); ok {
					d.Kind = ref.Kind
				}
				all.Records = append(all.Records, record)
			}
			all.Now = s.Now
		}
		return all, nil
	}
}

// brokenFields returns stores that lose one field each, for every field of
// records and events.
func brokenFields() []broken {
	var stores []broken
	for _, record := range []any{dibs.NameRecord{}, dibs.EntityRecord{}, dibs.Document{}} {
		t := reflect.TypeOf(record)
		for i := range t.NumField() {
			stores = append(stores, broken{
				must: "load-exact", how: "loses " + t.String() + "." + t.Field(i).Name,
				apply: answering(func(_ []dibs.Ref, s *dibs.LoadResult) {
					for _, r := range s.Records {
						if v := reflect.ValueOf(r).Elem(); v.Type() == t {
							v.Field(i).SetZero()
						}
					}
				}),
			})
		}
	}
	t := reflect.TypeFor[dibs.Event]()
	for i := range t.NumField() {
		stores = append(stores, broken{
			must: "events-exact", how: "loses Event." + t.Field(i).Name,
			apply: telltale(func(events []dibs.Event) []dibs.Event {
				for j := range events {
					reflect.ValueOf(&events[j]).Elem().Field(i).SetZero()
				}
				return events
			}),
		})
	}
	return stores
}
