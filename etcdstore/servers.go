package etcdstore

import (
	"context"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/backoff"
)

const (
	publishEvery = 3 * time.Second // how often servers publish their time
	serverLease  = 12              // the seconds for which a silent server counts

	// maxSampleAge is how old a published time may be when it is found: its server may have
	// been killed, and a new leader starts leases again.
	maxSampleAge = time.Minute

	// joinWait is how long a new server waits for the others to publish their time. They do so
	// at once when they see it, unless they are gone.
	joinWait = time.Second
)

// checkClock refuses writes while this machine's clock differs from those of the other servers
// or from the stored time.
func (s *Store) checkClock() error {
	if s.cfg.MaxSkew < 0 {
		return nil
	}
	if err := s.skew.check(); err != nil {
		return err
	}
	if ahead := s.clock.ahead(); ahead > s.cfg.MaxSkew {
		return fmt.Errorf("etcdstore: this machine's clock is %v behind the registry's time, more than the %v allowed: check its time service; "+
			"if the registry's time is wrong because a server with a wrong clock has moved it, set it by Store.SetTime or \"dibs clock set\"", ahead.Round(time.Millisecond), s.cfg.MaxSkew)
	}
	return nil
}

// joinServers reads the published times of the other servers, watches them from there on, and
// waits a little for new ones.
func (s *Store) joinServers(ctx context.Context) error {
	prefix := s.keys.servers()
	kvs, at, _, err := s.scan(ctx, prefix, prefixEnd(prefix), 0)
	if err != nil {
		return err
	}
	for _, kv := range kvs {
		s.skew.add(kv, prefix, s.clock.wall(), maxSampleAge)
	}
	s.background(func(ctx context.Context) { s.watchServers(ctx, int64(at)+1) })
	s.background(s.publishTimes)
	for began := time.Now(); !s.skew.allFresh() && time.Since(began) < joinWait; {
		if err := backoff.Sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) watchServers(ctx context.Context, from int64) {
	prefix := s.keys.servers()
	s.watch(ctx, prefix, from, func(answer clientv3.WatchResponse) {
		wall := s.clock.wall()
		for _, event := range answer.Events {
			if event.Type == mvccpb.DELETE {
				s.skew.remove(string(event.Kv.Key[len(prefix):]))
				continue
			}
			s.skew.add(event.Kv, prefix, wall, 0)
			if event.IsCreate() {
				select {
				case s.skew.joined <- struct{}{}:
				default:
				}
			}
		}
	}, clientv3.WithRange(prefixEnd(prefix)))
}

// publishTimes publishes this server's time until the context ends: regularly, and when a
// server joins.
func (s *Store) publishTimes(ctx context.Context) {
	for ctx.Err() == nil {
		if _, err := attempt(ctx, s, s.publishTime); err != nil && ctx.Err() == nil {
			s.cfg.Logger.WarnContext(ctx, "etcdstore: cannot publish this machine's time to the other servers", "error", err)
		}
		if err := s.checkClock(); err != nil {
			s.cfg.Logger.ErrorContext(ctx, err.Error())
		}
		select {
		case <-ctx.Done():
		case <-s.skew.joined:
		case <-time.After(s.cfg.publishEvery):
		}
	}
}

func (s *Store) publishTime(ctx context.Context) (*clientv3.PutResponse, error) {
	s.skew.mu.Lock()
	lease := s.skew.lease
	s.skew.mu.Unlock()
	if lease != 0 {
		if _, err := s.client.KeepAliveOnce(ctx, lease); err != nil {
			lease = 0
		}
	}
	if lease == 0 {
		granted, err := s.client.Grant(ctx, serverLease)
		if err != nil {
			return nil, err
		}
		lease = granted.ID
		s.skew.mu.Lock()
		s.skew.lease = lease
		s.skew.mu.Unlock()
	}
	now := stamp{time: dibs.InstantOf(s.clock.wall())}
	return s.client.Put(ctx, s.skew.key, now.encode(), clientv3.WithLease(lease))
}
