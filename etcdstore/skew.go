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
)

const (
	tellTimeEvery = 3 * time.Second // how often servers tell their time
	serverLease   = 12              // how many seconds one that tells nothing is still counted

	// What a server has told may be this old when it is found: it may have been killed, and
	// a new leader lets leases begin anew.
	oldestTold = time.Minute

	// How long a newcomer waits for the others to tell their time. They do so at once when
	// they see it, unless they are gone.
	introduction = time.Second
)

// skew compares this server's clock with those of the others. All servers tell their time
// every few seconds, and whenever a new one comes, each in a key that goes when it does. Who
// sees it knows by how much the two differ, and a little more: it has been under way.
//
// A server goes on if most servers, itself included, agree with it. Of two halves that
// disagree, the one with the server that has been there longest goes on.
type skew struct {
	most time.Duration // by how much clocks may differ; negative: nobody cares
	self string
	key  string // where this server tells its time

	newcomer chan struct{} // receives when a server has come

	mu     sync.Mutex
	lease  clientv3.LeaseID
	since  int64 // when this server came, as etcd's revision
	others map[string]otherClock
}

// otherClock is what is known of another server's clock.
type otherClock struct {
	since int64                      // when it came, as etcd's revision
	heard time.Time                  // when it told its time last
	told  [samplesKept]time.Duration // by how much it was ahead of this server's, the last times
	slack time.Duration              // by how much it may be further ahead than that
}

// samplesKept is of how many times that it told its time the earliest to arrive counts.
const samplesKept = 3

// ahead is by how much the clock is ahead of this server's. What is late makes it look less.
func (o otherClock) ahead() time.Duration { return slices.Max(o.told[:]) }

func (o otherClock) agrees(most time.Duration) bool {
	return o.ahead() <= most && o.ahead()+o.slack >= -most
}

// check says what is wrong with this server's clock, if anything is.
func (k *skew) check() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.most < 0 {
		return nil
	}
	servers, agree, oldest, worst := 1, 1, k.since, time.Duration(0)
	oldestAgrees := true
	for _, other := range k.others {
		if time.Since(other.heard) > serverLease*time.Second {
			continue // it is gone, and what told of that was lost
		}
		servers++
		ok := other.agrees(k.most)
		if ok {
			agree++
		} else if other.ahead().Abs() > worst.Abs() {
			worst = other.ahead()
		}
		if other.since < oldest || oldest == 0 {
			oldest, oldestAgrees = other.since, ok
		}
	}
	if 2*agree > servers || (2*agree == servers && oldestAgrees) {
		return nil
	}
	return fmt.Errorf("etcdstore: this machine's clock is off: by %v from another server's, and %d of %d servers do not agree with it within %v: "+
		"it writes nothing until its clock is right; look after its time service", worst.Round(time.Millisecond), servers-agree, servers, k.most)
}

// see takes note of what another server told, and how old that may be.
func (k *skew) see(kv *mvccpb.KeyValue, prefix string, wall time.Time, slack time.Duration) {
	server := string(kv.Key[len(prefix):])
	told, ok := decodeStamp(kv.Value)
	k.mu.Lock()
	defer k.mu.Unlock()
	if server == k.self {
		k.since = kv.CreateRevision
		return
	}
	if !ok {
		return
	}
	ahead := told.time.Sub(dibs.InstantOf(wall))
	other, known := k.others[server]
	if !known || other.slack > 0 {
		other.told = [samplesKept]time.Duration{ahead, ahead, ahead}
	}
	copy(other.told[1:], other.told[:])
	other.told[0] = ahead
	other.since, other.heard, other.slack = kv.CreateRevision, time.Now(), slack
	k.others[server] = other
}

// introduced reports whether all others have told their time since this server came.
func (k *skew) introduced() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, other := range k.others {
		if other.slack > 0 {
			return false
		}
	}
	return true
}

func (k *skew) lose(server string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.others, server)
}

// checkClock refuses to write with a clock that is off: from the other servers' or from
// the time on record.
func (s *Store) checkClock() error {
	if s.cfg.MaxSkew < 0 {
		return nil
	}
	if err := s.skew.check(); err != nil {
		return err
	}
	if ahead := s.clock.ahead(); ahead > s.cfg.MaxSkew {
		return fmt.Errorf("etcdstore: this machine's clock is %v behind the registry's time, more than the %v allowed: look after its time service; "+
			"if it is the registry's time that is wrong, since a server with a wrong clock has moved it on, set it by Store.SetTime or \"dibs clock set\"", ahead.Round(time.Millisecond), s.cfg.MaxSkew)
	}
	return nil
}

// meetServers reads what the others have told last, watches them from there on, and waits a
// little for them.
func (s *Store) meetServers(ctx context.Context) error {
	prefix := s.keys.servers()
	kvs, at, _, err := s.scan(ctx, prefix, behind(prefix), 0)
	if err != nil {
		return err
	}
	for _, kv := range kvs {
		s.skew.see(kv, prefix, s.clock.wall(), oldestTold)
	}
	s.background(func(ctx context.Context) { s.watchServers(ctx, int64(at)+1) })
	s.background(s.tellTime)
	for began := time.Now(); !s.skew.introduced() && time.Since(began) < introduction; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
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
				s.skew.lose(string(event.Kv.Key[len(prefix):]))
				continue
			}
			s.skew.see(event.Kv, prefix, wall, 0)
			if event.IsCreate() {
				s.skew.welcome()
			}
		}
	}, clientv3.WithRange(behind(prefix)))
}

// tellTime tells this server's time, again and again until the context ends.
func (s *Store) tellTime(ctx context.Context) {
	for ctx.Err() == nil {
		if err := s.once(ctx, s.tellTimeOnce); err != nil && ctx.Err() == nil {
			s.cfg.Logger.WarnContext(ctx, "etcdstore: could not tell the other servers this machine's time", "error", err)
		}
		if err := s.checkClock(); err != nil {
			s.cfg.Logger.ErrorContext(ctx, err.Error())
		}
		select {
		case <-ctx.Done():
		case <-s.skew.newcomer:
		case <-time.After(s.cfg.tellTimeEvery):
		}
	}
}

// welcome makes this server tell its time at once.
func (k *skew) welcome() {
	select {
	case k.newcomer <- struct{}{}:
	default:
	}
}

func (s *Store) tellTimeOnce(ctx context.Context) error {
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
			return err
		}
		lease = granted.ID
		s.skew.mu.Lock()
		s.skew.lease = lease
		s.skew.mu.Unlock()
	}
	now := stamp{time: dibs.InstantOf(s.clock.wall())}
	_, err := s.client.Put(ctx, s.skew.key, now.encode(), clientv3.WithLease(lease))
	return err
}

// withdraw takes this server out of those that are counted.
func (k *skew) withdraw(ctx context.Context, client *clientv3.Client) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lease != 0 {
		_, _ = client.Revoke(ctx, k.lease) // it ends by itself soon
	}
}
