package dibsclient

import (
	"slices"
	"sync"
	"time"

	"github.com/calldibs/dibs"
)

const (
	// maxIdle is how many streams are kept open for watchers that may come back.
	maxIdle = 64
	// maxIdleTime is how long each of them is kept. Who needs longer for an event
	// opens another one.
	maxIdleTime = 30 * time.Second
)

// streams keeps streams between two calls of their watchers. The zero streams keeps
// none yet.
type streams struct {
	mu     sync.Mutex
	idle   []*stream // the longest idle first
	closed bool
}

// take returns the stream that stands at a cursor, or nil.
func (k *streams) take(namespace string, cursor dibs.Cursor) *stream {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.idle, func(s *stream) bool { return s.namespace == namespace && s.cursor == cursor })
	if i < 0 {
		return nil
	}
	s := k.idle[i]
	s.idle.Stop()
	k.idle = slices.Delete(k.idle, i, i+1)
	return s
}

// put keeps a stream for a while.
func (k *streams) put(s *stream) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		s.cancel()
		return
	}
	if len(k.idle) == maxIdle {
		k.idle[0].idle.Stop()
		k.idle[0].cancel()
		k.idle = slices.Delete(k.idle, 0, 1)
	}
	s.idle = time.AfterFunc(maxIdleTime, func() { k.drop(s) })
	k.idle = append(k.idle, s)
}

// drop ends a stream that nobody came back for.
func (k *streams) drop(s *stream) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if i := slices.Index(k.idle, s); i >= 0 {
		k.idle = slices.Delete(k.idle, i, i+1)
		s.cancel()
	}
}

// closeAll ends all streams, and those that are put back later.
func (k *streams) closeAll() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range k.idle {
		s.idle.Stop()
		s.cancel()
	}
	k.idle, k.closed = nil, true
}
