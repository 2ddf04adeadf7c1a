// Package wake signals subscribers that there may be new events.
package wake

import (
	"context"
	"sync"
)

// List is a list of subscribers. The zero List is empty. It is safe for concurrent use.
type List struct {
	mu   sync.Mutex
	subs map[chan struct{}]bool
}

// Subscribe returns a channel that receives after each [List.Wake], until the context
// ends. For a subscriber that does not read, one signal stays pending.
func (l *List) Subscribe(ctx context.Context) <-chan struct{} {
	sub := make(chan struct{}, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.subs == nil {
		l.subs = make(map[chan struct{}]bool)
	}
	l.subs[sub] = true
	context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.subs, sub)
	})
	return sub
}

// Wake signals all subscribers.
func (l *List) Wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for sub := range l.subs {
		select {
		case sub <- struct{}{}:
		default:
		}
	}
}
