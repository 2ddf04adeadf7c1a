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
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/inflight"
	"github.com/calldibs/dibs/internal/wake"
)

// Store is a [dibs.Store] on an etcd cluster. It is safe for concurrent use.
type Store struct {
	cfg    Config
	client *clientv3.Client
	keys   keys
	maxOps int // --max-txn-ops of the servers

	server      string // a random id of this process
	clock       *clock
	skew        *skew
	footprints  *footprints
	slots       slots
	watchClock  sync.Once // the first subscriber starts the watch
	subscribers wake.List
	running     context.Context // of background work
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

// SetTime sets the registry's time. It is for an operator, after a server with a wrong clock
// has moved it far ahead and all others refuse to write. Holds that ended by the wrong time stay
// ended. Other servers learn the new time with their next call.
func (s *Store) SetTime(ctx context.Context, now time.Time) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.End()
	for lost := range maxLost {
		mark := s.clock.next(lost)
		mark.time = dibs.InstantOf(now)
		answer, err := s.transact(ctx, func(t clientv3.Txn) clientv3.Txn {
			return t.If(s.isBefore(mark)).Then(s.putClock(mark)...).Else(clientv3.OpGet(s.keys.clock()))
		})
		if err != nil {
			return unavailable(err)
		}
		if answer.Succeeded {
			s.clock.learn(mark)
			return nil
		}
		if _, err := s.learnStamp(answer.Responses[0].GetResponseRange().Kvs); err != nil {
			return unavailable(err)
		}
	}
	return unavailable(errContention)
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
		s.removeOwnKeys(ctx)
		_ = s.client.Close() // fails only if it is closed already
		return nil
	})
}

// removeOwnKeys removes the keys that only this server needs. If it fails, other servers or etcd
// remove them later.
func (s *Store) removeOwnKeys(ctx context.Context) {
	if s.slots.used() {
		prefix := s.keys.markers() + s.server
		_, _ = s.client.Delete(ctx, prefix, clientv3.WithRange(prefixEnd(prefix)))
	}
	s.skew.leave(ctx, s.client)
}
