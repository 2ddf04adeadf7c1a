// Package etcdstore keeps a registry of names in etcd, for clusters without an SQL database.
//
//	store, err := etcdstore.Open(ctx, etcdstore.Config{Endpoints: []string{"10.0.0.1:2379", "10.0.0.2:2379", "10.0.0.3:2379"}})
//
// Any number of processes may use one cluster, each with its own writer and sweeper. A Commit
// is one transaction, and one entry in etcd's log, for as many groups as the servers' limits
// allow. Reads are linearizable: a member without a connection to the others returns no old
// data. If the answer to a commit is lost, the store asks etcd for the outcome.
//
// etcd has no clock that transactions can read. The registry's time is stored, and every commit
// moves it: it is the clock of the server that is furthest ahead. Servers whose clock differs
// from the others by more than [Config.MaxSkew] do not write.
package etcdstore

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/backoff"
	"github.com/calldibs/dibs/internal/bisect"
	"github.com/calldibs/dibs/internal/inflight"
	"github.com/calldibs/dibs/internal/wake"
)

// Store is a [dibs.Store] on an etcd cluster. It is safe for concurrent use.
type Store struct {
	cfg    Config
	client *clientv3.Client
	kv     pb.KVClient // of the client, for requests as they are sent
	keys   keys
	fence  fence
	maxOps int // --max-txn-ops of the servers

	server      string // a random id of this process
	clock       *clock
	skew        *skew
	footprints  *footprints
	slots       slots
	watchClock  sync.Once // the first subscriber starts the watch
	subscribers wake.List
	feedStart   atomic.Pointer[string] // a position, see checkStart; nil until it is known
	running     context.Context        // of background work
	stop        context.CancelFunc
	working     sync.WaitGroup // background work

	calls inflight.Calls // the calls that Close waits for
}

var (
	_ dibs.Store    = (*Store)(nil)
	_ dibs.Pinger   = (*Store)(nil)
	_ dibs.Waker    = (*Store)(nil)
	_ dibs.Clock    = (*Store)(nil)
	_ dibs.Parallel = (*Store)(nil)
	_ bisect.Seeker = (*Store)(nil)
)

// Writers returns how many batches the registry should commit at once.
func (s *Store) Writers() int { return s.cfg.Writers }

// Now returns the engine's time as this server knows it.
func (s *Store) Now() (dibs.Instant, bool) { return s.clock.now(), true }

// Ping reads the time from the cluster, which needs a majority of its members.
func (s *Store) Ping(ctx context.Context) error {
	_, err := s.Load(ctx, nil)
	return err
}

// errWiped is returned if the clock has disappeared since the store was opened.
var errWiped = errors.New("etcdstore: the registry's clock is missing in etcd, its prefix may have been deleted: restore etcd from a snapshot, or open the store again")

// during runs a call that Close waits for, and classifies its error.
func during[T any](ctx context.Context, s *Store, call func() (T, error)) (result T, err error) {
	if err := s.calls.Begin(ctx); err != nil {
		return result, err
	}
	defer s.calls.End()
	result, err = call()
	return result, unavailable(err)
}

// closeTimeout is how long Close tries to remove this server's keys.
const closeTimeout = time.Second

// Close waits for the calls under way and closes the connections. All later calls
// return UNAVAILABLE, caused by [dibs.ErrClosed]. Closing twice is allowed.
func (s *Store) Close() error {
	return s.calls.Close(func() error {
		s.stop()
		s.working.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		// Other servers or etcd remove later what this fails to remove.
		if s.slots.used() {
			_, _ = s.client.Delete(ctx, s.keys.markers()+s.server, clientv3.WithPrefix())
		}
		if s.skew.lease != 0 {
			_, _ = s.client.Revoke(ctx, s.skew.lease)
		}
		_ = s.client.Close() // fails only if it is closed already
		return nil
	})
}

// Wake returns a channel that receives when another process may have committed: every commit
// changes the clock, which is watched. It is a hint. The channel of a closed store is nil.
func (s *Store) Wake(ctx context.Context) <-chan struct{} {
	if s.calls.Begin(ctx) != nil {
		return nil
	}
	defer s.calls.End()
	s.watchClock.Do(func() {
		s.working.Go(func() {
			s.watch(s.keys.clock(), 0, func(clientv3.WatchResponse) { s.subscribers.Wake() })
		})
	})
	return s.subscribers.Subscribe(ctx)
}

// watch calls changed with all changes of a key until the store is closed: from a revision of
// etcd on, or from the present one if from is zero. When etcd ends the watch, watch starts
// another.
func (s *Store) watch(key string, from int64, changed func(clientv3.WatchResponse), opts ...clientv3.OpOption) {
	for ctx := clientv3.WithRequireLeader(s.running); ctx.Err() == nil; from = 0 {
		for answer := range s.client.Watch(ctx, key, append(opts, clientv3.WithRev(from))...) {
			changed(answer)
		}
		_ = backoff.Sleep(ctx, 200*time.Millisecond)
	}
}
