package core

import (
	"context"
	"sync"
)

// singleFlight shares one lookup of suggestions among all callers that want the same at the
// same time: of ten thousand callers that race for one name, nearly all ask for alternatives.
// The result is shared, so no caller may change it.
type singleFlight struct {
	mu      sync.Mutex
	lookups map[string]*lookup
}

type lookup struct {
	done   chan struct{}
	result [][]string
}

func newSingleFlight() *singleFlight { return &singleFlight{lookups: make(map[string]*lookup)} }

func (f *singleFlight) do(ctx context.Context, key string, fn func() [][]string) [][]string {
	f.mu.Lock()
	if running, ok := f.lookups[key]; ok {
		f.mu.Unlock()
		select {
		case <-running.done:
			return running.result
		case <-ctx.Done():
			return nil
		}
	}
	mine := &lookup{done: make(chan struct{})}
	f.lookups[key] = mine
	f.mu.Unlock()

	defer func() {
		f.mu.Lock()
		delete(f.lookups, key)
		f.mu.Unlock()
		close(mine.done)
	}()
	mine.result = fn()
	return mine.result
}
