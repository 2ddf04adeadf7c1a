package etcdstore

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs/internal/backoff"
)

// Wake returns a channel that receives when another process may have committed: every commit
// changes the clock, which is watched. It is a hint. The channel of a closed store is nil.
func (s *Store) Wake(ctx context.Context) <-chan struct{} {
	if s.calls.Begin(ctx) != nil {
		return nil
	}
	defer s.calls.End()
	s.watchClock.Do(func() {
		s.background(func(ctx context.Context) {
			s.watch(ctx, s.keys.clock(), 0, func(clientv3.WatchResponse) { s.subscribers.Wake() })
		})
	})
	return s.subscribers.Subscribe(ctx)
}

// watch calls changed with all changes of a key until the context ends: from a revision of etcd
// on, or from the present one if from is zero. When etcd ends the watch, watch starts another.
func (s *Store) watch(ctx context.Context, key string, from int64, changed func(clientv3.WatchResponse), opts ...clientv3.OpOption) {
	for ; ctx.Err() == nil; from = 0 {
		for answer := range s.client.Watch(clientv3.WithRequireLeader(ctx), key, append(opts, clientv3.WithRev(from))...) {
			changed(answer)
		}
		_ = backoff.Sleep(ctx, 200*time.Millisecond)
	}
}
