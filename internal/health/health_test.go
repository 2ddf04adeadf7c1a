package health_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/health"
	"github.com/calldibs/dibs/internal/logtest"
	"github.com/calldibs/dibs/memstore"
)

// faulty is an engine that fails on demand.
type faulty struct {
	dibs.Store
	cause atomic.Value // a dibs.Cause; empty: the engine works
	calls atomic.Int64 // that reached the engine
	hangs atomic.Bool  // commits do not return
}

func (s *faulty) fails(cause dibs.Cause) { s.cause.Store(cause) }

func (s *faulty) failure() error {
	s.calls.Add(1)
	if cause := s.cause.Load().(dibs.Cause); cause != "" {
		return dibs.Unavailable(errors.New("the driver's text")).Because(cause)
	}
	return nil
}

func (s *faulty) Load(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
	if err := s.failure(); errors.Is(err, dibs.ErrUnavailable) && s.cause.Load() == dibs.CauseNoAnswer {
		return dibs.LoadResult{}, err // other causes do not affect reads
	}
	return s.Store.Load(ctx, refs)
}

func (s *faulty) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	if err := s.failure(); err != nil {
		return nil, err
	}
	for s.hangs.Load() {
		time.Sleep(time.Millisecond)
	}
	return s.Store.Commit(ctx, groups)
}

// rig is a watched engine inside a synctest bubble.
type rig struct {
	*testing.T
	engine  *faulty
	store   dibs.Store
	monitor *health.Monitor
	log     *logtest.Buffer
	rev     uint64
}

// inBubble runs a test with its own clock.
func inBubble(t *testing.T, fn func(r *rig)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, engine: &faulty{Store: memstore.New(memstore.Config{})}, log: &logtest.Buffer{}}
		r.engine.fails("")
		r.monitor = health.NewMonitor(slog.New(health.Quiet(slog.NewTextHandler(r.log, nil))))
		r.store = r.monitor.Watch("", r.engine)
		synctest.Wait()
		fn(r)
		r.engine.hangs.Store(false)
		if err := r.store.Close(); err != nil {
			t.Error(err)
		}
	})
}

// commit writes a document.
func (r *rig) commit() error {
	doc := &dibs.Document{Kind: "test", ID: dibs.ID{1}, Rev: r.rev + 1, Label: "test", Data: []byte("{}")}
	_, err := r.store.Commit(r.Context(), []dibs.Group{{
		Reads: []dibs.Read{{Ref: doc.Ref(), Rev: r.rev}}, Writes: []dibs.Write{{Record: doc}},
	}})
	if err == nil {
		r.rev++
	}
	return err
}

func (r *rig) read() error {
	_, err := r.store.Load(r.Context(), nil)
	return err
}

func (r *rig) state() health.State { return r.monitor.States(r.Context())[0] }

func (r *rig) lines() int { return strings.Count(r.log.String(), "\n") }

// probes returns how often a probe was written.
func (r *rig) probes() uint64 {
	r.Helper()
	records, err := r.engine.List(r.Context(), dibs.ListQuery{Kind: "probe", Limit: 1})
	if err != nil || len(records) != 1 {
		r.Fatalf("%v, %v", records, err)
	}
	return records[0].Revision()
}

// A server that only reads writes four probes a minute; one that writes needs none.
func TestProbesAreRare(t *testing.T) {
	inBubble(t, func(r *rig) {
		for range 600 {
			time.Sleep(time.Second)
			if err := r.read(); err != nil {
				r.Fatal(err)
			}
		}
		idle := r.probes()
		if idle < 30 || idle > 41 {
			r.Errorf("%d probes in ten minutes", idle)
		}
		for range 600 {
			time.Sleep(time.Second)
			if err := r.commit(); err != nil {
				r.Fatal(err)
			}
		}
		if busy := r.probes() - idle; busy > 1 {
			r.Errorf("%d probes in ten minutes with commits", busy)
		}
	})
}

// A failure is found without a call.
func TestIdleEngineFails(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.engine.fails(dibs.CauseReadOnly)
		time.Sleep(16 * time.Second)
		if s := r.state(); s.Writes || !s.Reads || s.Cause != dibs.CauseReadOnly {
			r.Errorf("%+v", s)
		}
		r.engine.fails("")
		time.Sleep(1100 * time.Millisecond)
		if s := r.state(); !s.Writes || s.Cause != "" {
			r.Errorf("%+v", s)
		}
	})
}

// Ten minutes with twenty failing calls each second make a dozen log lines, which count all
// calls.
func TestLogOfALastingFailure(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.engine.fails(dibs.CauseDiskFull)
		for range 10 * 60 * 20 {
			time.Sleep(50 * time.Millisecond)
			err := r.commit()
			if failed, ok := errors.AsType[*dibs.Error](err); !ok || failed.Cause != dibs.CauseDiskFull || !strings.HasPrefix(failed.Message, "disk full: ") {
				r.Fatal(err)
			}
			if err := r.read(); err != nil {
				r.Fatalf("a read failed: %v", err)
			}
		}
		r.engine.fails("")
		if err := r.commit(); err != nil {
			r.Fatalf("a commit failed after recovery: %v", err)
		}
		if n := r.lines(); n < 10 || n > 13 {
			r.Errorf("%d log lines, want 10 to 13", n)
		}
		total := 0
		for line := range strings.Lines(r.log.String()) {
			var n int
			if _, text, ok := strings.Cut(line, " failed="); ok {
				_, _ = fmt.Sscan(text, &n)
			}
			total += n
			if !strings.Contains(line, "works again") && (!strings.Contains(line, `cause="disk full"`) || !strings.Contains(line, "the driver's text")) {
				r.Error(line)
			}
		}
		if total != 10*60*20 {
			r.Errorf("the log counts %d failed calls", total)
		}
	})
}

// An engine that fails every other call does not fill the log.
func TestLogOfAFlappingEngine(t *testing.T) {
	inBubble(t, func(r *rig) {
		for i := range 10 * 60 {
			time.Sleep(100 * time.Millisecond)
			r.engine.fails([]dibs.Cause{dibs.CauseDiskFull, ""}[i%2])
			_ = r.commit()
		}
		if n := r.lines(); n < 2 || n > 14 {
			r.Errorf("%d log lines in a minute:\n%s", n, r.log)
		}
	})
}

// Calls to an unreachable engine are refused without reaching it, until a probe finds that it
// answers again.
func TestUnreachableEngine(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.engine.fails(dibs.CauseNoAnswer)
		if err := r.read(); !errors.Is(err, dibs.ErrUnavailable) {
			r.Fatal(err)
		}
		synctest.Wait()
		before := r.engine.calls.Load()
		for range 1000 {
			for _, err := range []error{r.read(), r.commit()} {
				if failed, ok := errors.AsType[*dibs.Error](err); !ok || failed.Code != dibs.CodeUnavailable || failed.Cause != dibs.CauseNoAnswer {
					r.Fatal(err)
				}
			}
		}
		if n := r.engine.calls.Load() - before; n != 0 {
			r.Errorf("%d calls reached the engine", n)
		}
		if s := r.state(); s.Reads || s.Writes {
			r.Errorf("%+v", s)
		}
		time.Sleep(time.Second)
		r.engine.fails("")
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if err := errors.Join(r.read(), r.commit()); err != nil {
			r.Errorf("a call failed after recovery: %v", err)
		}
		if n := r.lines(); n != 2 {
			r.Errorf("%d log lines, want 2:\n%s", n, r.log)
		}
	})
}

// A hanging commit is found while it hangs.
func TestHangingCommit(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.engine.hangs.Store(true)
		done := make(chan error)
		go func() { done <- r.commit() }()
		time.Sleep(8 * time.Second)
		if s := r.state(); s.Writes || !s.Reads || s.Cause != dibs.CauseTooSlow {
			r.Errorf("%+v", s)
		}
		r.engine.hangs.Store(false)
		if err := <-done; err != nil {
			r.Error(err)
		}
		if s := r.state(); !s.Writes {
			r.Errorf("%+v", s)
		}
		synctest.Wait() // the probe that hung has ended too, beyond its deadline
		time.Sleep(time.Second)
		if s := r.state(); !s.Writes {
			r.Errorf("a late probe outweighs a commit: %+v", s)
		}
	})
}

// Quiet drops log records about a known failure, except at level debug.
func TestQuiet(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.engine.fails(dibs.CauseNoAnswer)
		err := fmt.Errorf("sweeping: %w", r.read())
		for level, want := range map[slog.Level]int{slog.LevelInfo: 1, slog.LevelDebug: 2} {
			var out logtest.Buffer
			log := slog.New(health.Quiet(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level}))).With("some", "thing")
			log.Warn("a sweep failed", "error", err)
			log.Warn("something else", "error", dibs.Unavailable(errors.New("others were faster")))
			if n := strings.Count(out.String(), "\n"); n != want {
				r.Errorf("%d log lines at %v, want %d:\n%s", n, level, want, out.String())
			}
		}
	})
}
