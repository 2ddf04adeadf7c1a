package pgstore

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
)

// Commit commits groups in one transaction, in one round trip. Where one of them
// keeps it from committing, the others are tried without it.
func (s *Store) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	if err := s.calls.Begin(ctx); err != nil {
		return nil, err
	}
	defer s.calls.End()
	ctx, cancel := s.uninterrupted(ctx)
	defer cancel()
	c := &committing{store: s, server: s.server.now(), groups: groups, outcomes: make([]dibs.Outcome, len(groups))}
	together, apart := c.parts()
	for _, part := range together {
		if err := c.commit(ctx, part); err != nil {
			return c.failed(err)
		}
	}
	if len(together) == 0 { // they hold up nobody but each other
		c.hurry()
		for _, i := range apart {
			if err := c.commit(ctx, []int{i}); err != nil {
				return c.failed(err)
			}
		}
	}
	if c.committed {
		s.feed.committed()
	}
	if c.wrong != nil && !slices.ContainsFunc(c.outcomes, func(o dibs.Outcome) bool { return o != dibs.Busy }) {
		return nil, c.wrong
	}
	return c.outcomes, nil
}

// uninterrupted is for what nobody can end from outside: what became of it would be unknown.
// But who has to be sure that it is over by a date can say so.
func (s *Store) uninterrupted(ctx context.Context) (context.Context, context.CancelFunc) {
	until := time.Now().Add(s.cfg.Timeout)
	if date, ok := ctx.Deadline(); ok && date.Before(until) {
		until = date
	}
	return context.WithDeadline(context.WithoutCancel(ctx), until)
}

// committing is a Commit under way.
type committing struct {
	store     *Store
	groups    []dibs.Group
	outcomes  []dibs.Outcome
	committed bool // whether something was
	server    int  // which one the groups were decided on

	// wrong is the error of a group that no server would take. It is Busy until it is
	// alone, or among others of its kind, so that nobody else gets its error.
	wrong error

	// enough is when to stop trying, once a lock was waited for in vain: see hurry.
	enough time.Time
}

// searchTime is how long a Commit looks for what is locked. What it did not get to is
// busy too, and will soon be asked again.
const searchTime = 30 * time.Millisecond

// hurry is for when a lock was waited for in vain. That was longer than a commit takes,
// so whoever has it is somebody with time: to look for which record it is, and to try
// others that were locked before, must not take as long again for each.
func (c *committing) hurry() {
	if c.enough.IsZero() {
		c.enough = time.Now().Add(searchTime)
	}
}

func (c *committing) hurries() bool { return !c.enough.IsZero() }

// failed ends a Commit that cannot go on. What was committed before stays so: then
// the rest, with which nothing happened, is to be asked again.
func (c *committing) failed(err error) ([]dibs.Outcome, error) {
	if !c.committed || isUnknown(err) {
		return nil, err
	}
	c.store.feed.committed()
	return c.outcomes, nil
}

// parts splits the groups into transactions of a good size. A group that rests on a
// name which another transaction had locked some time ago is kept apart: it is tried
// alone, and only by a Commit in which nobody else waits for it.
func (c *committing) parts() (parts [][]int, apart []int) {
	var part []int
	rows := 0
	now := time.Now()
	for i := range c.groups {
		c.outcomes[i] = dibs.Busy
		switch c.store.busy.check(&c.groups[i], now) {
		case stillBusy:
			if len(c.groups) == 1 {
				apart = append(apart, i)
			}
			continue
		case wasBusy:
			apart = append(apart, i)
			continue
		case notBusy:
		}
		size := max(len(c.groups[i].Reads), len(c.groups[i].Events))
		if rows += size; rows > maxRows && len(part) > 0 {
			parts, part, rows = append(parts, part), nil, size
		}
		part = append(part, i)
	}
	if len(part) > 0 {
		parts = append(parts, part)
	}
	return parts, apart
}

// commit commits the groups in these places, or as many of them as can be.
func (c *committing) commit(ctx context.Context, places []int) error {
	if c.hurries() && time.Now().After(c.enough) {
		return nil // their outcome is Busy
	}
	err := c.again(ctx, places)
	pieces := 2
	switch {
	case err == nil:
		return nil
	case isBusy(err), lostRace(err):
		c.hurry()
		if len(places) == 1 {
			c.store.busy.note(&c.groups[places[0]], time.Now())
			return nil // its outcome is Busy
		}
		// Each try waits for the lock, so few and small ones find it soonest.
		pieces = int(math.Ceil(math.Sqrt(float64(len(places)))))
	case isStale(err):
		if len(places) == 1 {
			c.outcomes[places[0]] = dibs.Stale
			return nil
		}
	case errors.Is(err, errOtherServer):
		for _, i := range places {
			c.outcomes[i] = dibs.Stale
		}
		return nil
	case isWrong(err):
		if len(places) == 1 {
			return c.judge(ctx, places[0], err)
		}
	default:
		return err
	}
	size := (len(places) + pieces - 1) / pieces
	for len(places) > 0 {
		piece := places[:min(size, len(places))]
		places = places[len(piece):]
		if err := c.commit(ctx, piece); err != nil {
			return err
		}
	}
	return nil
}

// judge tells apart why no server would take a group. A constraint may notice before the
// comparison of revisions does that the group rests on what has changed: on two records of
// different moments, of which a decision has made nonsense. Such a group is stale, and revisions
// only ever go up, so it was then. Any other is wrong.
func (c *committing) judge(ctx context.Context, place int, err error) error {
	stale, loadErr := c.store.hasChanged(ctx, c.groups[place].Reads)
	switch {
	case loadErr != nil:
		return dibs.Unavailable(loadErr)
	case stale:
		c.outcomes[place] = dibs.Stale
	default:
		c.wrong = err // its outcome is Busy
	}
	return nil
}

const (
	// maxRaces is how often a transaction that lost a race, or a connection, is run
	// again.
	maxRaces  = 10
	firstWait = time.Millisecond
	maxWait   = 50 * time.Millisecond
)

// again runs a transaction until it is decided.
func (c *committing) again(ctx context.Context, places []int) (err error) {
	wait := firstWait
	for range maxRaces {
		t, buildErr := c.transaction(places)
		if buildErr != nil {
			return dibs.Unavailable(buildErr)
		}
		err = c.store.use(ctx, func(conn *pgx.Conn) error {
			if c.store.server.now() != c.server {
				return errOtherServer
			}
			return t.run(ctx, conn, c.store.sql)
		})
		switch {
		case err == nil:
			c.accept(t)
			return nil
		case lostRace(err), notSent(err):
		case isBusy(err), isStale(err), errors.Is(err, errOtherServer):
			return err
		case refused(err):
			return unavailable(err)
		default: // the answer is lost
			done, settleErr := c.store.settle(ctx, t)
			if settleErr != nil {
				return dibs.OutcomeUnknown(err).Because(c.store.diagnosed(ctx, causeOf(settleErr)))
			}
			if done {
				c.accept(t)
				return nil
			}
		}
		if pause(ctx, jitter(wait)) != nil {
			break
		}
		wait = min(2*wait, maxWait)
	}
	if lostRace(err) {
		return err
	}
	return unavailable(err)
}

// jitter keeps those who met once from meeting again.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d) }

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
