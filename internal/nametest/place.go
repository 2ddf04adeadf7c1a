package nametest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/calldibs/dibs"
)

// Place is where registries meet: one file, one schema, one cluster, without any names
// yet.
type Place struct {
	// Open opens one more registry, as another process would have it. The suite closes
	// it.
	Open func(tb testing.TB, cfg dibs.Config) *dibs.Registry

	// InTx runs work with a registry that is bound to a transaction of the caller's own,
	// which is committed if work returns nil and else rolled back. It returns the error
	// of work or of the commit; a commit that lost a race is [dibs.ErrRetryTx]. Nil
	// where the engine has no such transactions.
	InTx func(ctx context.Context, reg *dibs.Registry, work func(bound *dibs.Registry) error) error

	// Files returns the paths of all files that the engine has, and of its log. Only
	// [Traces] needs it, and the rest.
	Files func(tb testing.TB) []string
	// Telling are parts of paths. A value that is not blind must be found in a file of
	// each, or the search does not see what is there.
	Telling []string
	// Dump returns everything that the engine has, by its own tools, after it was scrubbed
	// if it can be. Only [Forget] needs it.
	Dump func(tb testing.TB) []byte
	// Stop ends the engine itself, so that everything is in the files. The registries
	// are closed by then. Nil where there is nothing but them.
	Stop func(tb testing.TB)

	closings []func() // of what is open
}

// open opens a registry, which closes with the test unless it is closed before.
func (p *Place) open(tb testing.TB, cfg dibs.Config) *dibs.Registry {
	tb.Helper()
	reg := p.Open(tb, cfg)
	closing := sync.OnceFunc(func() {
		if err := reg.Close(); err != nil {
			tb.Error(err)
		}
	})
	tb.Cleanup(closing)
	p.closings = append(p.closings, closing)
	return reg
}

// close closes all registries, and ends the engine.
func (p *Place) close(tb testing.TB) {
	tb.Helper()
	for _, closing := range p.closings {
		closing()
	}
	if p.Stop != nil {
		p.Stop(tb)
	}
}

// openAll opens a registry for each config.
func (p *Place) openAll(tb testing.TB, cfgs ...dibs.Config) []*dibs.Registry {
	tb.Helper()
	regs := make([]*dibs.Registry, len(cfgs))
	for i, cfg := range cfgs {
		regs[i] = p.open(tb, cfg)
	}
	return regs
}

// maxTries is how often a transaction may lose its race: a bound for what never ends.
const maxTries = 200

// inTx is InTx, again and again until the transaction has not lost a race.
func (p *Place) inTx(ctx context.Context, reg *dibs.Registry, work func(bound *dibs.Registry) error) (err error) {
	for range maxTries {
		if err = p.InTx(ctx, reg, work); !errors.Is(err, dibs.ErrRetryTx) {
			return err
		}
	}
	return err
}

// atOnce lets so many callers work at the same moment, and returns when all are done.
func atOnce(callers int, work func(caller int)) {
	var group sync.WaitGroup
	start := make(chan struct{})
	for caller := range callers {
		group.Go(func() {
			<-start
			work(caller)
		})
	}
	close(start)
	group.Wait()
}
