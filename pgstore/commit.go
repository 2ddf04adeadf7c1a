package pgstore

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"math"
	"slices"
	"sync"
	"sync/atomic"
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
	c := &commitCall{store: s, generation: s.failovers.count.Load(), groups: groups, outcomes: make([]dibs.Outcome, len(groups))}
	var err error
	for _, part := range c.split() {
		if err = c.commit(ctx, part); err != nil {
			break
		}
	}
	if c.committed {
		s.feed.committed()
	}
	if err == nil && !slices.ContainsFunc(c.outcomes, func(o dibs.Outcome) bool { return o != dibs.Busy }) {
		err = c.invalid
	}
	// If some groups are committed, the remaining ones are Busy.
	if err != nil && (!c.committed || errors.Is(err, dibs.ErrOutcomeUnknown)) {
		return nil, err
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
	committed  bool  // whether any group was
	generation int64 // of the server on which the groups were decided

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

// split divides the groups into transactions of at most maxRows rows. A group with a record
// that was locked lately is apart: Commit tries it alone, and only if it has no other groups.
func (c *commitCall) split() (parts [][]int) {
	var part, apart []int
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
		return append(parts, part)
	}
	c.shortenLockWait() // groups that may be locked delay only each other
	return slices.Collect(slices.Chunk(apart, 1))
}

// commit commits the groups with these indexes, or as many of them as possible.
func (c *commitCall) commit(ctx context.Context, indexes []int) error {
	if len(indexes) == 0 || c.searching() && time.Now().After(c.searchUntil) {
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
		rest, err := c.withoutStale(ctx, indexes)
		if err != nil {
			return err
		}
		if len(rest) < len(indexes) {
			return c.commit(ctx, rest)
		} // else it is too early for a group: halves find it
	case errors.Is(err, errFailover):
		for _, i := range indexes {
			c.outcomes[i] = dibs.Stale
		}
		return nil
	case isFenced(err):
		return c.store.moved(ctx)
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

// withoutStale finds the groups with a record that has changed since it was read, and those that come too
// late, and returns the others. An import that is begun again, or was held up, has hundreds of them: halves
// would take as many transactions.
func (c *commitCall) withoutStale(ctx context.Context, indexes []int) (rest []int, err error) {
	now, err := c.store.presentOf(ctx, c.those(indexes))
	if err != nil {
		return nil, dibs.Unavailable(err)
	}
	for _, i := range indexes {
		if now.outdates(&c.groups[i]) {
			c.outcomes[i] = dibs.Stale
		} else {
			rest = append(rest, i)
		}
	}
	return rest, nil
}

// those returns the groups with these indexes.
func (c *commitCall) those(indexes []int) iter.Seq[*dibs.Group] {
	return func(yield func(*dibs.Group) bool) {
		for _, i := range indexes {
			if !yield(&c.groups[i]) {
				return
			}
		}
	}
}

// staleOrInvalid finds out why the server refused the data of a group. A constraint may fail
// before revisions are compared, because the group read records of different moments. Such a
// group is stale: revisions only go up, so it was stale then. Any other is invalid.
func (c *commitCall) staleOrInvalid(ctx context.Context, index int, err error) error {
	now, loadErr := c.store.presentOf(ctx, c.those([]int{index}))
	switch {
	case loadErr != nil:
		return dibs.Unavailable(loadErr)
	case now.outdates(&c.groups[index]):
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
			if c.store.failovers.count.Load() != c.generation {
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

// batchIDs makes the ids of transactions: eight random bytes for the process, and a number. So
// the batches of one process are adjacent in their index, and apart from those of others.
type batchIDs struct {
	prefix [8]byte
	last   atomic.Uint64
}

func (b *batchIDs) next() (id uuid) {
	copy(id[:], b.prefix[:])
	binary.BigEndian.PutUint64(id[8:], b.last.Add(1))
	return id
}

// findOutcome reports whether a transaction committed whose answer was lost. Its answer is final:
// if the batch is absent, a void batch takes its id, so that a transaction under way can never
// commit.
//
// It always writes, since the answer to a commit proves that all earlier commits are safe too,
// also on a standby for which the lost answer may have waited.
func (s *Store) findOutcome(ctx context.Context, t *transaction) (committed bool, err error) {
	// The transaction may have used up the caller's time.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Timeout)
	defer cancel()
	changes := cmp.Or(t.general, t.newNames)
	var live int64
	if err := s.retry(ctx, func() []call {
		return []call{{text: s.sql.named("outcome"), args: []any{changes.batch, changes.stamp}, scan: scanInto(&live)}}
	}, func(error) bool { return false }); err != nil {
		return false, err
	}
	if live >= 0 && t.newNames != nil {
		err = s.retryRead(ctx, func() []call {
			return []call{{text: s.sql.named("names in batch"), args: []any{t.newNames.batch}, scan: t.newNames.scanInserted}}
		})
	}
	return live >= 0, err
}

const (
	// lockedPause is how long Commit does not retry a locked record.
	lockedPause = 50 * time.Millisecond
	// lockedMemory is how long Commit keeps a record that was locked apart from others.
	lockedMemory = 5 * time.Second
	// maxLocked bounds the cache. A locked record beyond it delays one more batch.
	maxLocked = 1024
)

// lockedRecords remembers which records were locked by other transactions, so that a locked
// record delays one batch and not every batch.
type lockedRecords struct {
	mu   sync.Mutex
	seen map[dibs.ID]time.Time // when it was last found locked
}

// lockState is what is known of the locks on the records of a group.
type lockState int

const (
	unlocked  lockState = iota
	wasLocked           // some time ago: Commit retries it, but not together with others
	locked              // a moment ago
)

func (l *lockedRecords) check(g *dibs.Group, now time.Time) lockState {
	l.mu.Lock()
	defer l.mu.Unlock()
	state := unlocked
	for i := range g.Reads {
		id := g.Reads[i].Ref.ID
		at, ok := l.seen[id]
		switch passed := now.Sub(at); {
		case !ok:
		case passed < lockedPause:
			return locked
		case passed < lockedMemory:
			state = wasLocked
		default:
			delete(l.seen, id)
		}
	}
	return state
}

// add notes that a record of a group is locked. PostgreSQL does not tell which one, so it
// notes all that the group writes.
func (l *lockedRecords) add(g *dibs.Group, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == nil || len(l.seen) >= maxLocked {
		l.seen = make(map[dibs.ID]time.Time)
	}
	for i := range g.Writes {
		l.seen[g.Writes[i].Record.Ref().ID] = now
	}
}

// remove notes that no record of a group is locked.
func (l *lockedRecords) remove(g *dibs.Group) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range g.Reads {
		delete(l.seen, g.Reads[i].Ref.ID)
	}
}
