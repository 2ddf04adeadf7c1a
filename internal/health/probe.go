package health

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/calldibs/dibs"
)

// kindProbe is the kind of the document that is written to see whether that works. All
// servers on an engine share it.
const kindProbe dibs.Kind = "probe"

var probeRef = func() dibs.Ref {
	sum := sha256.Sum256([]byte("probe"))
	return dibs.Ref{Kind: kindProbe, ID: dibs.ID(sum[:16])}
}()

// keep looks at the engine until it is closed: now and then while all is well, often while
// it is not, and soon after a call that makes it look suspicious.
func (e *engine) keep() {
	var write chan error // a write that takes long; nil: there is none
	var last time.Time   // when the last look was over
	suspicious := true   // nothing is known yet
	for {
		if !e.nextLook(last, suspicious).After(time.Now()) {
			write = e.look(write)
			last, suspicious = time.Now(), false
		}
		pause := time.NewTimer(time.Until(e.nextLook(last, suspicious)))
		select {
		case <-pause.C:
		case <-e.wake:
			suspicious = true
		case err := <-write:
			write = nil
			e.noteProbe(err)
		case <-e.ctx.Done():
			pause.Stop()
			if write != nil {
				<-write
			}
			return
		}
		pause.Stop()
	}
}

// nextLook is when to look again. A commit that worked is as good as a look.
func (e *engine) nextLook(last time.Time, suspicious bool) time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch t := e.trouble; {
	case t != nil && t.gone:
		return last.Add(e.pace.Gone)
	case t != nil || suspicious:
		return last.Add(e.pace.Failing)
	case e.committed.After(last):
		return e.committed.Add(e.pace.Idle)
	default:
		return last.Add(e.pace.Idle)
	}
}

// look asks the engine for the time, and then writes. It returns the write if that is not
// over yet: there is never more than one.
func (e *engine) look(write chan error) chan error {
	if err := e.pingInTime(); err != nil {
		if e.ctx.Err() == nil {
			e.fails(plain(err), dibs.CauseNoAnswer, true, 0)
		}
		return write
	}
	e.answers()
	if write == nil {
		write = make(chan error, 1)
		go func() { write <- e.write(e.ctx) }()
	}
	late := time.NewTimer(e.pace.Answer)
	defer late.Stop()
	select {
	case err := <-write:
		e.noteProbe(err)
		return nil
	case <-late.C:
		e.fails(errLate, e.diagnose(), false, 0)
	case <-e.ctx.Done():
	}
	return write
}

var errLate = errors.New("a write is not answered")

// pingInTime asks whether the engine answers at all. One that refuses the question for
// another reason is there.
func (e *engine) pingInTime() error {
	ctx, cancel := context.WithTimeout(e.ctx, e.pace.Answer)
	defer cancel()
	err := e.ping(ctx)
	if err == nil || ctx.Err() == nil && causeOf(err) != dibs.CauseNoAnswer {
		return nil
	}
	return err
}

// diagnose says why a write is not answered while reads are.
func (e *engine) diagnose() dibs.Cause {
	if d, ok := e.Store.(diagnoser); ok {
		if cause := d.Diagnose(e.ctx); cause != "" {
			return cause
		}
	}
	return dibs.CauseTooSlow
}

func (e *engine) noteProbe(err error) {
	switch {
	case err == nil:
		e.works()
	case e.ctx.Err() == nil:
		cause := causeOf(err)
		e.fails(plain(err), cause, cause == dibs.CauseNoAnswer, 0)
	}
}

// probeTries is how often a write is tried because another server was faster. That it was
// shows well enough that writes work.
const probeTries = 3

// write writes the probe.
func (e *engine) write(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.pace.Answer)
	defer cancel()
	for range probeTries {
		found, err := e.Store.Load(ctx, []dibs.Ref{probeRef})
		if err != nil {
			return err
		}
		var rev uint64
		for _, record := range found.Records {
			rev = record.Revision()
		}
		outcomes, err := e.Store.Commit(ctx, []dibs.Group{{
			Reads:  []dibs.Read{{Ref: probeRef, Rev: rev}},
			Writes: []dibs.Write{{Record: &dibs.Document{Kind: kindProbe, ID: probeRef.ID, Rev: rev + 1, Label: "probe", Data: []byte("{}")}}},
		}})
		if err != nil || len(outcomes) == 1 && outcomes[0] == dibs.Committed {
			return err
		}
	}
	return nil
}
