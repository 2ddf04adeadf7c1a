package etcdstore

import (
	"context"
	"fmt"
	"slices"
	"sync"
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
	found, at, err := s.scan(ctx, prefix, prefixEnd(prefix), 0)
	if err != nil {
		return err
	}
	for _, kv := range found.Kvs {
		s.skew.add(kv, prefix, s.clock.wall(), maxSampleAge)
	}
	s.working.Go(func() { s.watchServers(at + 1) })
	s.working.Go(s.publishTimes)
	for began := time.Now(); !s.skew.allFresh() && time.Since(began) < s.cfg.joinWait; {
		if err := backoff.Sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) watchServers(from int64) {
	prefix := s.keys.servers()
	s.watch(prefix, from, func(answer clientv3.WatchResponse) {
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
	}, clientv3.WithPrefix())
}

// publishTimes publishes this server's time until the store is closed: regularly, and when a
// server joins.
func (s *Store) publishTimes() {
	for ctx := s.running; ctx.Err() == nil; {
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
	lease := s.skew.lease
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
		s.skew.lease = lease
	}
	now := stamp{time: dibs.InstantOf(s.clock.wall())}
	return s.client.Put(ctx, s.keys.servers()+s.server, now.encode(), clientv3.WithLease(lease))
}

// skew compares this server's clock with those of the others. Every server publishes its time in
// a key with a lease, every few seconds and whenever a server joins. A reader of that key knows
// the difference of the two clocks, plus the delay of the message.
//
// A server writes if most servers, itself included, agree with it. If two halves disagree, the
// half with the oldest server writes.
type skew struct {
	self   string
	most   time.Duration    // the allowed difference
	joined chan struct{}    // receives when a server has joined
	lease  clientv3.LeaseID // only publishTime changes it, and Close reads it later

	mu     sync.Mutex
	since  int64 // when this server joined, as etcd's revision
	others map[string]otherClock
}

// otherClock is what is known of another server's clock.
type otherClock struct {
	since   int64                      // when it joined, as etcd's revision
	heard   time.Time                  // when it last published its time
	samples [samplesKept]time.Duration // how far it was ahead of this server's, newest first
	slack   time.Duration              // how much further ahead it may be
}

// samplesKept is the number of samples of which the one with the least delay counts.
const samplesKept = 3

// ahead returns how far the clock is ahead of this server's. A delay makes a sample too small.
func (o otherClock) ahead() time.Duration { return slices.Max(o.samples[:]) }

// check returns what is wrong with this server's clock, if anything.
func (k *skew) check() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	servers, agree, oldest, worst := 1, 1, k.since, time.Duration(0)
	oldestAgrees := true
	for _, other := range k.others {
		if time.Since(other.heard) > serverLease*time.Second {
			continue // the server is gone, and its removal was not noticed
		}
		servers++
		ahead := other.ahead()
		ok := ahead <= k.most && ahead+other.slack >= -k.most
		if ok {
			agree++
		} else if ahead.Abs() > worst.Abs() {
			worst = ahead
		}
		if other.since < oldest || oldest == 0 {
			oldest, oldestAgrees = other.since, ok
		}
	}
	if 2*agree > servers || (2*agree == servers && oldestAgrees) {
		return nil
	}
	return fmt.Errorf("etcdstore: this machine's clock is off by %v from another server's, and %d of %d servers differ from it by more than %v: "+
		"it does not write until its clock is right; check its time service", worst.Round(time.Millisecond), servers-agree, servers, k.most)
}

// add adds the published time of a server. It is at most slack old.
func (k *skew) add(kv *mvccpb.KeyValue, prefix string, wall time.Time, slack time.Duration) {
	server := string(kv.Key[len(prefix):])
	published, ok := decodeStamp(kv.Value)
	k.mu.Lock()
	defer k.mu.Unlock()
	if server == k.self {
		k.since = kv.CreateRevision
		return
	}
	if !ok {
		return
	}
	ahead := published.time.Sub(dibs.InstantOf(wall))
	other, known := k.others[server]
	if !known || other.slack > 0 {
		other.samples = [samplesKept]time.Duration{ahead, ahead, ahead}
	}
	copy(other.samples[1:], other.samples[:])
	other.samples[0] = ahead
	other.since, other.heard, other.slack = kv.CreateRevision, time.Now(), slack
	k.others[server] = other
}

// allFresh reports whether all others have published their time since this server joined.
func (k *skew) allFresh() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, other := range k.others {
		if other.slack > 0 {
			return false
		}
	}
	return true
}

func (k *skew) remove(server string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.others, server)
}
