// Package wake signals subscribers that there may be new events.
package wake

import (
	"context"
	"sync"
)

// List is a list of subscribers. The zero List is empty. It is safe for concurrent use.
type List struct{ subs sync.Map } // of channels

// Subscribe returns a channel that receives after each [List.Wake], until the context
// ends. For a subscriber that does not read, one signal stays pending.
func (l *List) Subscribe(ctx context.Context) <-chan struct{} {
	sub := make(chan struct{}, 1)
	l.subs.Store(sub, true)
	context.AfterFunc(ctx, func() { l.subs.Delete(sub) })
	return sub
}

// Wake signals all subscribers.
func (l *List) Wake() {
	for sub := range l.subs.Range {
		select {
		case sub.(chan struct{}) <- struct{}{}:
		default:
		}
	}
}
