// Package etcdstore keeps a registry of names in etcd, for several machines without a
// database of their own.
//
//	store, err := etcdstore.Open(ctx, etcdstore.Config{Endpoints: []string{"10.0.0.1:2379", "10.0.0.2:2379", "10.0.0.3:2379"}})
//
// Any number of processes may work on one cluster, each with its own writer and sweeper.
// A Commit is one transaction, and one entry in etcd's log, for as many groups as the
// servers' limits allow. Reads are linearizable: a member that has lost the others does
// not answer from the past. A commit whose answer is lost is looked up, not guessed.
//
// etcd has no clock that transactions can read. The registry's time is on record, and moved
// on by every commit: it is the clock of whichever server is furthest ahead, and servers
// that differ from the others by more than [Config.MaxSkew] do not write.
package etcdstore

import (
	"context"
	"errors"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/inflight"
)

// Store is a [dibs.Store] on an etcd cluster. It is safe for concurrent use.
type Store struct {
	cfg    Config
	client *clientv3.Client
	keys   keys
	limits limits

	server  string // eight random bytes that no other process has
	clock   *clock
	skew    *skew
	known   known
	slots   slots
	bell    bell
	running context.Context    // of what runs in the background
	stop    context.CancelFunc // ends it
	working sync.WaitGroup     // what runs in the background

	calls inflight.Calls // Close waits for them
}

var (
	_ dibs.Store    = (*Store)(nil)
	_ dibs.Pinger   = (*Store)(nil)
	_ dibs.Waker    = (*Store)(nil)
	_ dibs.Clock    = (*Store)(nil)
	_ dibs.Parallel = (*Store)(nil)
)

// Writers is how many batches are best under way at once.
func (s *Store) Writers() int { return s.cfg.Writers }

// Now is the engine's time as this server knows it.
func (s *Store) Now() (dibs.Instant, bool) { return s.clock.now(), true }

// Ping asks the cluster for the time, in a way that takes most of its members.
func (s *Store) Ping(ctx context.Context) error {
	_, err := s.Load(ctx, nil)
	return err
}

// errWiped is about a clock that was there when the store was opened.
var errWiped = errors.New("etcdstore: the registry's clock is gone from etcd: was its prefix deleted? Restore it from a snapshot, or open it anew")

// SetTime puts the registry's time back, or on. It is for an operator, after a server with
// a wrong clock has moved it far ahead, so that all others refuse to write. What ended in
// the meantime stays so. Other servers learn of it with their next call.
func (s *Store) SetTime(ctx context.Context, now time.Time) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.End()
	for lost := range maxLost {
		mark := s.clock.next(lost)
		mark.time = dibs.InstantOf(now)
		var answer *clientv3.TxnResponse
		err := s.ask(ctx, func(ctx context.Context) (err error) {
			answer, err = s.client.Txn(ctx).If(s.isBefore(mark)).
				Then(clientv3.OpPut(s.keys.clock(), mark.encode()), clientv3.OpPut(s.keys.over(), string(number(uint64(mark.time))))).
				Else(clientv3.OpGet(s.keys.clock())).Commit()
			return err
		})
		if err != nil {
			return unavailable(err)
		}
		if answer.Succeeded {
			s.clock.learn(mark)
			return nil
		}
		if err := s.learnFrom(answer.Responses[0].GetResponseRange().Kvs); err != nil {
			return unavailable(err)
		}
	}
	return unavailable(errCrowded)
}

// closeTime is how long Close tries to tidy up.
const closeTime = time.Second

// Close waits for the calls under way and closes the connections. All later calls
// return UNAVAILABLE, caused by [dibs.ErrClosed]. Closing twice is allowed.
func (s *Store) Close() error {
	return s.calls.Close(func() error {
		s.stop()
		s.working.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), closeTime)
		defer cancel()
		s.tidyUp(ctx)
		_ = s.client.Close() // it can only say that it is closed
		return nil
	})
}

// tidyUp removes what only this server needed. What is left is removed by others later.
func (s *Store) tidyUp(ctx context.Context) {
	if s.slots.used() {
		prefix := s.keys.markers() + s.server
		_, _ = s.client.Delete(ctx, prefix, clientv3.WithRange(behind(prefix)))
	}
	s.skew.withdraw(ctx, s.client)
}
