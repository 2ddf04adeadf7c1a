// Package gate lets calls of an engine in until it is closed, and closing wait for them.
package gate

import (
	"context"
	"sync"

	"github.com/calldibs/dibs"
)

// Gate is open until it is shut. The zero Gate is open. It is safe for concurrent use.
type Gate struct {
	mu   sync.RWMutex // held for reading by every call that is in
	shut bool
}

// Enter begins a call: it returns the context's error, or UNAVAILABLE once the gate is
// shut. Without an error, [Gate.Leave] must follow.
func (g *Gate) Enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	g.mu.RLock()
	if g.shut {
		g.mu.RUnlock()
		return dibs.Unavailable(dibs.ErrClosed)
	}
	return nil
}

// Leave ends a call.
func (g *Gate) Leave() { g.mu.RUnlock() }

// Shut waits for the calls that are in, lets nobody in any more, and then calls what
// closes the engine. A second time it does nothing.
func (g *Gate) Shut(closing func() error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return nil
	}
	g.shut = true
	return closing()
}
