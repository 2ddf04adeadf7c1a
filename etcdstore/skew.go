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

// skew compares this server's clock with those of the others. Every server publishes its time in
// a key with a lease, every few seconds and whenever a server joins. A reader of that key knows
// the difference of the two clocks, plus the delay of the message.
//
// A server writes if most servers, itself included, agree with it. If two halves disagree, the
// half with the oldest server writes.
type skew struct {
	most time.Duration // the allowed difference; negative means no check
	self string
	key  string // where this server publishes its time

	joined chan struct{} // receives when a server has joined

	mu     sync.Mutex
	lease  clientv3.LeaseID
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

func (o otherClock) agrees(most time.Duration) bool {
	return o.ahead() <= most && o.ahead()+o.slack >= -most
}

// check returns what is wrong with this server's clock, if anything.
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
			continue // the server is gone, and its removal was not noticed
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

// leave makes the other servers forget this one.
func (k *skew) leave(ctx context.Context, client *clientv3.Client) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lease != 0 {
		_, _ = client.Revoke(ctx, k.lease) // it expires soon anyway
	}
}
