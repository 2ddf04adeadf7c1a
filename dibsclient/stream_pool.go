package dibsclient

import (
	"slices"
	"sync"
	"time"

	"github.com/calldibs/dibs"
)

const (
	// maxIdleStreams is how many streams stay open for watchers that may return.
	maxIdleStreams = 64
	// maxIdleTime is how long each of them stays open. A watcher that takes longer for an
	// event opens another one.
	maxIdleTime = 30 * time.Second
)

// streamPool keeps streams open between two calls of their watchers. The zero streamPool
// is empty.
type streamPool struct {
	mu     sync.Mutex
	idle   []*stream // the longest idle first
	closed bool
}

// take removes and returns the stream at a cursor, or returns nil.
func (p *streamPool) take(namespace string, cursor dibs.Cursor) *stream {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.idle, func(s *stream) bool { return s.namespace == namespace && s.cursor == cursor })
	if i < 0 {
		return nil
	}
	s := p.idle[i]
	s.idle.Stop()
	p.idle = slices.Delete(p.idle, i, i+1)
	return s
}

// put adds a stream for a while.
func (p *streamPool) put(s *stream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		s.cancel()
		return
	}
	if len(p.idle) == maxIdleStreams {
		p.idle[0].idle.Stop()
		p.idle[0].cancel()
		p.idle = slices.Delete(p.idle, 0, 1)
	}
	s.idle = time.AfterFunc(maxIdleTime, func() { p.expire(s) })
	p.idle = append(p.idle, s)
}

// expire ends a stream whose watcher did not return.
func (p *streamPool) expire(s *stream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.idle, s); i >= 0 {
		p.idle = slices.Delete(p.idle, i, i+1)
		s.cancel()
	}
}

// closeAll ends all streams, and those that are put back later.
func (p *streamPool) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.idle {
		s.idle.Stop()
		s.cancel()
	}
	p.idle, p.closed = nil, true
}
