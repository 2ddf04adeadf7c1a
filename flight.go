package dibs

import (
	"context"
	"sync"
)

// flight shares one look-up among all who want the same at the same time: of ten
// thousand who race for one name, nearly all want to know what else there is. The
// result is shared: nobody may change it.
type flight struct {
	mu    sync.Mutex
	calls map[string]*call
}

type call struct {
	done   chan struct{}
	result [][]string
}

func newFlight() *flight { return &flight{calls: make(map[string]*call)} }

func (f *flight) do(ctx context.Context, key string, fn func() [][]string) [][]string {
	f.mu.Lock()
	if running, ok := f.calls[key]; ok {
		f.mu.Unlock()
		select {
		case <-running.done:
			return running.result
		case <-ctx.Done():
			return nil
		}
	}
	mine := &call{done: make(chan struct{})}
	f.calls[key] = mine
	f.mu.Unlock()

	defer func() {
		f.mu.Lock()
		delete(f.calls, key)
		f.mu.Unlock()
		close(mine.done)
	}()
	mine.result = fn()
	return mine.result
}
