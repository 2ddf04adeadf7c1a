package etcdstore

import (
	"context"
	"encoding/binary"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
)

// stamp is what every commit writes into the clock key: its order among all commits, and its
// time.
//
// The feed is sorted by the order. A commit is a transaction with the condition that the
// stored order is lower than its own, so orders rise exactly as etcd applies transactions. An
// order is about the time in microseconds, but nothing depends on that: a server with a slow
// clock continues from the stored order.
//
// Windows are checked against the time: the greater of the server's own clock and the stored
// time.
type stamp struct {
	order uint64
	time  dibs.Instant
}

const stampSize = 16

func (s stamp) encode() string {
	return number(s.order) + number(uint64(s.time))
}

func decodeStamp(value []byte) (stamp, bool) {
	if len(value) != stampSize {
		return stamp{}, false
	}
	return stamp{binary.BigEndian.Uint64(value), dibs.Instant(binary.BigEndian.Uint64(value[8:]))}, true
}

// clock is the newest stored stamp that a server knows, and its own clock.
type clock struct {
	wall func() time.Time

	mu     sync.Mutex
	seen   stamp  // the newest stored one
	issued uint64 // the highest order that was given to a commit here
}

// learn notes a stored stamp.
func (c *clock) learn(s stamp) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.order > c.seen.order {
		c.seen = s
	}
}

// lastOrder returns the highest stored order that is known.
func (c *clock) lastOrder() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen.order
}

// now returns the engine's time, as far as it is known here.
func (c *clock) now() dibs.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(dibs.InstantOf(c.wall()), c.seen.time)
}

// ahead returns how far the stored time is ahead of this server's clock.
func (c *clock) ahead() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen.time.Sub(dibs.InstantOf(c.wall()))
}

// leap raises the order of a commit that lost a race. Without it a server with a slow clock would
// lose every race.
const leap = 2000

// next returns the stamp of a commit that has lost some races.
func (c *clock) next(lost int) stamp {
	c.mu.Lock()
	defer c.mu.Unlock()
	wall := c.wall()
	order := max(uint64(wall.UnixMicro()), c.seen.order+1, c.issued+1)
	if lost > 0 {
		order += leap << min(2*lost, 16)
	}
	c.issued = order
	return stamp{order, max(dibs.InstantOf(wall), c.seen.time)}
}

// Await stores the present time in keys.finalUntil, which makes all earlier ends final: commits
// under way with an earlier stamp fail and get a new one. Await writes nothing if a later time
// is stored, or if etcd is full, since no commit can succeed then.
func (s *Store) Await(ctx context.Context, _ []dibs.Ref, end dibs.Instant) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.End()
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	wait := newBackoff()
	for lost := 0; ; lost++ {
		if err := s.checkClock(); err != nil { // a wrong clock must not move the stored time
			return unavailable(err)
		}
		if s.clock.now() >= end {
			moved, final, err := s.moveClock(ctx, s.clock.next(lost), s.isFinalBefore(end))
			switch {
			case moved || final >= end || isFull(err):
				return nil
			case err != nil:
				return unavailable(err)
			}
		}
		if err := wait.Wait(ctx); err != nil {
			return unavailable(err)
		}
	}
}

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
		if moved, _, err := s.moveClock(ctx, mark); moved || err != nil {
			return unavailable(err)
		}
	}
	return unavailable(errContention)
}

// moveClock moves the clock to a stamp and makes all ends up to its time final, if the stored
// order is lower and the conditions are true. If not, it returns what is stored in finalUntil.
func (s *Store) moveClock(ctx context.Context, mark stamp, conditions ...clientv3.Cmp) (moved bool, final dibs.Instant, err error) {
	answer, err := s.transact(ctx, func(t clientv3.Txn) clientv3.Txn {
		return t.If(append(conditions, s.isBefore(mark))...).
			Then(clientv3.OpPut(s.keys.clock(), mark.encode()), clientv3.OpPut(s.keys.finalUntil(), number(uint64(mark.time)))).
			Else(s.readClock()...)
	})
	if err != nil {
		return false, 0, err
	}
	if answer.Succeeded {
		s.clock.learn(mark)
		return true, mark.time, nil
	}
	final, err = s.learnClock(ctx, answer)
	return false, final, err
}

// isBefore is the condition that the stored order is lower than that of a stamp.
func (s *Store) isBefore(mark stamp) clientv3.Cmp {
	return clientv3.Compare(clientv3.Value(s.keys.clock()), "<", number(mark.order))
}

// isFinalBefore is the condition that finalUntil is before a time.
func (s *Store) isFinalBefore(at dibs.Instant) clientv3.Cmp {
	return clientv3.Compare(clientv3.Value(s.keys.finalUntil()), "<", number(uint64(at)))
}

// readClock reads what a transaction must know whose conditions failed.
func (s *Store) readClock() []clientv3.Op {
	return []clientv3.Op{clientv3.OpGet(s.keys.clock()), clientv3.OpGet(s.keys.finalUntil())}
}

// learnClock notes the answer to readClock, and returns finalUntil. It creates that key in a
// registry of a version that did not have it.
func (s *Store) learnClock(ctx context.Context, answer *clientv3.TxnResponse) (final dibs.Instant, err error) {
	if err := s.learnStamp(answer.Responses[0]); err != nil {
		return 0, err
	}
	if kvs := answer.Responses[1].GetResponseRange().Kvs; len(kvs) > 0 {
		return dibs.Instant(decodeNumber(kvs[0].Value)), nil
	}
	_, err = s.transact(ctx, func(t clientv3.Txn) clientv3.Txn {
		return t.If(clientv3.Compare(clientv3.CreateRevision(s.keys.finalUntil()), "=", 0)).
			Then(clientv3.OpPut(s.keys.finalUntil(), number(0)))
	})
	return 0, err
}
