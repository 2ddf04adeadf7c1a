package etcdstore

import (
	"context"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Wake returns a channel that receives when another process may have committed
// something: every commit changes the clock, which is watched. It is a hint.
func (s *Store) Wake(ctx context.Context) <-chan struct{} {
	if s.calls.Begin(ctx) != nil {
		return nil // nobody would ever send anything
	}
	defer s.calls.End()
	return s.bell.subscribe(ctx, func() { s.background(s.listen) })
}

// listen rings the bell at each commit, until the context ends.
func (s *Store) listen(ctx context.Context) {
	s.watch(ctx, s.keys.clock(), 0, func(clientv3.WatchResponse) { s.bell.ring() })
}

// watch hands on what changes at a key, or below it, until the context ends: from a revision
// of etcd on, or from now on. When etcd ends the watch it begins again, from then on.
func (s *Store) watch(ctx context.Context, key string, from int64, changed func(clientv3.WatchResponse), opts ...clientv3.OpOption) {
	for ; ctx.Err() == nil; from = 0 {
		for answer := range s.client.Watch(clientv3.WithRequireLeader(ctx), key, append(opts, clientv3.WithRev(from))...) {
			changed(answer)
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// bell wakes all who wait.
type bell struct {
	once sync.Once

	mu      sync.Mutex
	waiting map[chan struct{}]bool
}

// subscribe waits until the context ends. The first who does so starts the bell.
func (b *bell) subscribe(ctx context.Context, start func()) <-chan struct{} {
	b.once.Do(start)
	woken := make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting == nil {
		b.waiting = make(map[chan struct{}]bool)
	}
	b.waiting[woken] = true
	context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.waiting, woken)
	})
	return woken
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for woken := range b.waiting {
		select {
		case woken <- struct{}{}:
		default:
		}
	}
}
