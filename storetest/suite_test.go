package storetest

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/bisect"
)

// contract returns the ids of the musts in the comments of dibs.Store, and of optional interfaces.
func contract(t *testing.T) []string {
	t.Helper()
	var source []byte
	for _, path := range []string{"../store.go", "../store_optional.go", "../internal/bisect/bisect.go", "../internal/snapshot/snapshot.go"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		source = append(source, text...)
	}
	var ids []string
	// Links to identifiers, such as [ErrUnavailable], contain capitals.
	for _, match := range regexp.MustCompile(`(?m)^\s*//.*$`).FindAll(source, -1) {
		for _, id := range regexp.MustCompile(`\[([a-z]+(?:-[a-z]+)*)\]`).FindAllSubmatch(match, -1) {
			ids = append(ids, string(id[1]))
		}
	}
	if len(ids) < 30 {
		t.Fatalf("found only %d ids in store.go: %v", len(ids), ids)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func TestEveryMustHasACase(t *testing.T) {
	t.Parallel()
	ids := contract(t)
	for _, id := range ids {
		if !slices.Contains(Musts(), id) {
			t.Errorf("[%s] in store.go has no case", id)
		}
	}
	for _, id := range Musts() {
		if !slices.Contains(ids, id) {
			t.Errorf("a case proves [%s], which is not in store.go", id)
		}
	}
}

func TestCasesHaveDifferentNames(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, c := range cases {
		for _, must := range c.ids() {
			if key := must + "/" + c.name; seen[key] {
				t.Errorf("two cases are named %q", key)
			} else {
				seen[key] = true
			}
		}
	}
}

// An unbroken store passes with all parts of a harness, so a broken one fails
// because of what was broken.
func TestSoundStorePasses(t *testing.T) {
	t.Parallel()
	Run(t, fakes(nil))
}

// An engine may commit all groups of a call as one transaction.
func TestStoreWithOneTransactionPasses(t *testing.T) {
	t.Parallel()
	Run(t, fakes(func(f *fake, _ *Clock) {
		good := f.commit
		f.commit = func(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
			all := join(groups...)
			for _, g := range groups {
				all.Window.From = max(all.Window.From, g.Window.From)
				if g.Window.Before != 0 && (all.Window.Before == 0 || g.Window.Before < all.Window.Before) {
					all.Window.Before = g.Window.Before
				}
			}
			outcomes, err := good(ctx, []dibs.Group{all})
			return slices.Repeat(outcomes, len(groups)), err
		}
	}))
}

func TestFillLeavesNothingOut(t *testing.T) {
	t.Parallel()
	for _, record := range []any{fill(new(dibs.NameRecord)), fill(new(dibs.EntityRecord)), fill(new(dibs.Document)), fill(new(dibs.Event))} {
		requireFilled(t, reflect.ValueOf(record).Elem())
	}
}

func requireFilled(t *testing.T, v reflect.Value) {
	t.Helper()
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("%s.%s is not filled", v.Type(), v.Type().Field(i).Name)
		}
		if v.Field(i).Kind() == reflect.Struct {
			requireFilled(t, v.Field(i))
		}
	}
}

func TestOddValuesDiffer(t *testing.T) {
	t.Parallel()
	if sorted := inByteOrder(oddValues); len(slices.Compact(sorted)) != len(oddValues) {
		t.Error("a value is listed twice")
	}
	for _, value := range oddValues {
		if value == "" || len(value) > 1024 {
			t.Errorf("no registry stores %.20q, of %d bytes", value, len(value))
		}
	}
}

// recorder is a testing.TB that records failures, so that a case can fail without
// failing the test that expects it to.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	failures []string
}

func (r *recorder) note(message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, message)
}

func (r *recorder) Fail()                             { r.note("failed") }
func (r *recorder) Error(args ...any)                 { r.note(fmt.Sprint(args...)) }
func (r *recorder) Errorf(format string, args ...any) { r.note(fmt.Sprintf(format, args...)) }

func (r *recorder) FailNow() {
	r.Fail()
	runtime.Goexit()
}

func (r *recorder) Fatal(args ...any) {
	r.Error(args...)
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.failures) > 0
}

func (r *recorder) Log(...any)          {}
func (r *recorder) Logf(string, ...any) {}

// try runs a case and returns its failure messages.
func try(t *testing.T, c testCase, harness Harness) []string {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() { // a failing case ends its goroutine
		defer close(done)
		c.proveWithin(r, harness, brokenPatience)
	}()
	<-done
	return r.failures
}

// disk is data in a memstore with commits that can stall: until one resumes, readers
// see the data without it.
type disk struct {
	dibs.Store
	clock *Clock

	mu     sync.Mutex
	stalls *stall       // the next commit stalls here
	slow   atomic.Int32 // stalled commits
}

func (d *disk) Seek(ctx context.Context, at dibs.Instant) (dibs.Cursor, error) {
	return d.Store.(bisect.Seeker).Seek(ctx, at)
}

// stall makes the next commit stall.
func (d *disk) stall() (stalled <-chan struct{}, resume func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := newStall()
	d.stalls = s
	return s.reached, func() { close(s.resumed) }
}

func (d *disk) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	d.mu.Lock()
	s := d.stalls
	d.stalls = nil
	d.mu.Unlock()
	if s == nil || !groups[0].Window.Contains(dibs.InstantOf(d.clock.Now())) {
		return d.Store.Commit(ctx, groups)
	}
	d.slow.Add(1)
	defer d.slow.Add(-1)
	s.wait()
	late := groups[0]
	late.Window = dibs.Window{} // it was checked in time
	return d.Store.Commit(ctx, []dibs.Group{late})
}

// Await waits until no commit stalls.
func (d *disk) Await(ctx context.Context, refs []dibs.Ref, end dibs.Instant) error {
	for d.slow.Load() > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return d.Store.Await(ctx, refs, end)
}
