package pgstore

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/backoff"
)

// Commit commits groups in one transaction, in one round trip. If a group makes it fail, Commit
// tries the others without that group.
func (s *Store) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	if err := s.calls.Begin(ctx); err != nil {
		return nil, err
	}
	defer s.calls.End()
	ctx, cancel := s.uninterrupted(ctx)
	defer cancel()
	c := &commitCall{store: s, generation: s.failovers.generation(), groups: groups, outcomes: make([]dibs.Outcome, len(groups))}
	together, apart := c.split()
	for _, part := range together {
		if err := c.commit(ctx, part); err != nil {
			return c.failed(err)
		}
	}
	if len(together) == 0 { // groups that may be locked delay only each other
		c.shortenLockWait()
		for _, i := range apart {
			if err := c.commit(ctx, []int{i}); err != nil {
				return c.failed(err)
			}
		}
	}
	if c.committed {
		s.feed.committed()
	}
	if c.invalid != nil && !slices.ContainsFunc(c.outcomes, func(o dibs.Outcome) bool { return o != dibs.Busy }) {
		return nil, c.invalid
	}
	return c.outcomes, nil
}

// uninterrupted returns a context without the caller's cancellation, since the outcome of an
// interrupted commit is unknown. The caller's deadline stays.
func (s *Store) uninterrupted(ctx context.Context) (context.Context, context.CancelFunc) {
	timeout := s.cfg.Timeout
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(deadline))
	}
	return context.WithTimeout(context.WithoutCancel(ctx), timeout)
}

// commitCall is one call of Commit.
type commitCall struct {
	store      *Store
	groups     []dibs.Group
	outcomes   []dibs.Outcome
	committed  bool // whether any group was
	generation int  // of the server on which the groups were decided

	// invalid is the error of a group that no server would accept. The group is Busy, and its
	// call is retried, until a call has no other group: no other command gets this error.
	invalid error

	// searchUntil is when to stop looking for locked records; see shortenLockWait.
	searchUntil time.Time
}

// searchTime is how long a Commit looks for the locked records. Groups that it did not reach
// are Busy, and are soon tried again.
const searchTime = 30 * time.Millisecond

// shortenLockWait starts the search for locked records, after a lock was not granted in time.
// The transaction that has the lock is a slow one, since the lock wait is longer than a commit
// takes. So the search does not wait as long again for each group.
func (c *commitCall) shortenLockWait() {
	if c.searchUntil.IsZero() {
		c.searchUntil = time.Now().Add(searchTime)
	}
}

func (c *commitCall) searching() bool { return !c.searchUntil.IsZero() }

// failed ends a Commit after an error. If some groups are committed, it returns no error, and the
// remaining groups are Busy.
func (c *commitCall) failed(err error) ([]dibs.Outcome, error) {
	if !c.committed || errors.Is(err, dibs.ErrOutcomeUnknown) {
		return nil, err
	}
	c.store.feed.committed()
	return c.outcomes, nil
}

// split divides the groups into transactions of at most maxRows rows. A group with a record
// that was locked lately is apart: Commit tries it alone, and only if it has no other groups.
func (c *commitCall) split() (parts [][]int, apart []int) {
	var part []int
	rows := 0
	now := time.Now()
	for i := range c.groups {
		c.outcomes[i] = dibs.Busy
		state := c.store.locked.check(&c.groups[i], now)
		if state == wasLocked || state == locked && len(c.groups) == 1 {
			apart = append(apart, i)
		}
		if state != unlocked {
			continue
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

// commit commits the groups with these indexes, or as many of them as possible.
func (c *commitCall) commit(ctx context.Context, indexes []int) error {
	if c.searching() && time.Now().After(c.searchUntil) {
		return nil // their outcome is Busy
	}
	err := c.retry(ctx, indexes)
	parts := 2
	switch {
	case err == nil:
		return nil
	case isLocked(err), lostRace(err):
		c.shortenLockWait()
		if len(indexes) == 1 {
			c.store.locked.add(&c.groups[indexes[0]], time.Now())
			return nil // its outcome is Busy
		}
		// Each try waits for the lock: about √n small transactions find it soonest.
		parts = int(math.Ceil(math.Sqrt(float64(len(indexes)))))
	case isStale(err):
		if len(indexes) == 1 {
			c.outcomes[indexes[0]] = dibs.Stale
			return nil
		}
	case errors.Is(err, errFailover):
		for _, i := range indexes {
			c.outcomes[i] = dibs.Stale
		}
		return nil
	case isInvalid(err):
		if len(indexes) == 1 {
			return c.staleOrInvalid(ctx, indexes[0], err)
		}
	default:
		return err
	}
	for part := range slices.Chunk(indexes, (len(indexes)+parts-1)/parts) {
		if err := c.commit(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// staleOrInvalid finds out why the server refused the data of a group. A constraint may fail
// before revisions are compared, because the group read records of different moments. Such a
// group is stale: revisions only go up, so it was stale then. Any other is invalid.
func (c *commitCall) staleOrInvalid(ctx context.Context, index int, err error) error {
	stale, loadErr := c.store.hasChanged(ctx, c.groups[index].Reads)
	switch {
	case loadErr != nil:
		return dibs.Unavailable(loadErr)
	case stale:
		c.outcomes[index] = dibs.Stale
	default:
		c.invalid = err // its outcome is Busy
	}
	return nil
}

// maxAttempts is how often a transaction runs after lost races and lost connections.
const maxAttempts = 10

func newBackoff() *backoff.Backoff {
	return &backoff.Backoff{First: time.Millisecond, Max: 50 * time.Millisecond}
}

// retry runs a transaction until it has an outcome.
func (c *commitCall) retry(ctx context.Context, indexes []int) (err error) {
	wait := newBackoff()
	for range maxAttempts {
		t, buildErr := c.transaction(indexes)
		if buildErr != nil {
			return dibs.Unavailable(buildErr)
		}
		err = c.store.use(ctx, func(conn *pgx.Conn) error {
			if c.store.failovers.generation() != c.generation {
				return errFailover
			}
			return t.run(ctx, conn, c.store.sql)
		})
		switch {
		case err == nil:
			c.accept(t)
			return nil
		case lostRace(err), notSent(err):
		case isLocked(err), isStale(err), errors.Is(err, errFailover):
			return err
		case refused(err):
			return unavailable(err)
		default: // the answer is lost
			committed, outcomeErr := c.store.findOutcome(ctx, t)
			if outcomeErr != nil {
				return dibs.OutcomeUnknown(err).Because(c.store.standbyCause(ctx, causeOf(outcomeErr)))
			}
			if committed {
				c.accept(t)
				return nil
			}
		}
		if wait.Wait(ctx) != nil {
			break
		}
	}
	if lostRace(err) {
		return err
	}
	return unavailable(err)
}
