package health

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/document"
	"github.com/calldibs/dibs/internal/snapshot"
)

// kindProbe is the kind of the document that probes write. All servers on an engine share it.
const kindProbe = snapshot.KindProbe

var probeRef = func() dibs.Ref {
	sum := sha256.Sum256([]byte("probe"))
	return dibs.Ref{Kind: kindProbe, ID: dibs.ID(sum[:16])}
}()

// run probes the engine until it is closed: rarely while it works, often while it fails, and
// soon after a suspicious call.
func (e *engine) run() {
	var write chan written // a write that has not ended; nil: none
	var last time.Time     // the end of the last probe
	suspicious := true     // at first nothing is known
	for {
		if !e.nextProbe(last, suspicious).After(time.Now()) {
			write = e.probe(write)
			last, suspicious = time.Now(), false
		}
		select {
		case <-time.After(time.Until(e.nextProbe(last, suspicious))):
		case <-e.wake:
			suspicious = true
		case ended := <-write:
			write = nil
			e.noteProbe(ended)
		case <-e.ctx.Done():
			if write != nil {
				<-write
			}
			return
		}
	}
}

// nextProbe returns the time of the next probe. A successful commit counts as a probe.
func (e *engine) nextProbe(last time.Time, suspicious bool) time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch f := e.failure; {
	case f != nil && f.unreachable:
		return last.Add(e.intervals.unreachable)
	case f != nil || suspicious:
		return last.Add(e.intervals.failing)
	case e.committed.After(last):
		return e.committed.Add(e.intervals.idle)
	default:
		return last.Add(e.intervals.idle)
	}
}

// probe pings the engine and then writes to it. There is never more than one write: probe takes
// the one that has not ended, and returns it if it still has not.
func (e *engine) probe(write chan written) chan written {
	if err := e.pingInTime(); err != nil {
		if e.ctx.Err() == nil {
			e.noteFailure(err, dibs.CauseNoAnswer, 0)
		}
		return write
	}
	e.noteAnswer()
	if write == nil {
		write = make(chan written, 1)
		begun := time.Now()
		go func() { write <- written{begun, e.write(e.ctx)} }()
	}
	select {
	case ended := <-write:
		e.noteProbe(ended)
		return nil
	case <-time.After(e.intervals.timeout):
		e.noteFailure(errLate, e.diagnose(), 0)
	case <-e.ctx.Done():
	}
	return write
}

var errLate = errors.New("a write is not answered")

// pingInTime checks that the engine answers at all. An error with another cause is an answer.
func (e *engine) pingInTime() error {
	ctx, cancel := context.WithTimeout(e.ctx, e.intervals.timeout)
	defer cancel()
	err := Ping(ctx, e.Store)
	if err == nil || ctx.Err() == nil && CauseOf(err) != dibs.CauseNoAnswer {
		return nil
	}
	return err
}

// diagnose returns why a write is not answered while reads are.
func (e *engine) diagnose() dibs.Cause {
	if d, ok := e.Store.(diagnoser); ok {
		if cause := d.Diagnose(e.ctx); cause != "" {
			return cause
		}
	}
	return dibs.CauseTooSlow
}

// written is the end of a probe's write.
type written struct {
	begun time.Time
	err   error
}

// noteProbe notes how a probe's write ended. If a commit succeeded after the write had begun, its
// failure is old news, such as a deadline that passed while the engine hung: another probe finds
// out.
func (e *engine) noteProbe(ended written) {
	switch {
	case ended.err == nil:
		e.noteSuccess()
	case e.ctx.Err() != nil:
	case e.committedSince(ended.begun):
		e.probeNow()
	default:
		e.noteFailure(ended.err, CauseOf(ended.err), 0)
	}
}

func (e *engine) committedSince(t time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.committed.After(t)
}

// write writes the probe document. If other servers are always faster, writes work.
func (e *engine) write(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.intervals.timeout)
	defer cancel()
	err := document.Update(ctx, e.Store, func() (dibs.Group, error) {
		found, err := e.Store.Load(ctx, []dibs.Ref{probeRef})
		var rev uint64
		for _, record := range found.Records {
			rev = record.Revision()
		}
		return dibs.Group{
			Reads:  []dibs.Read{{Ref: probeRef, Rev: rev}},
			Writes: []dibs.Write{{Record: &dibs.Document{Kind: kindProbe, ID: probeRef.ID, Rev: rev + 1, Label: "probe", Data: []byte("{}")}}},
		}, err
	})
	if errors.Is(err, document.ErrContended) {
		return nil
	}
	return err
}
