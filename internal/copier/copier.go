// Package copier copies a registry from one engine to another while servers use it, and then moves
// it there.
//
// It copies the feed: for each page of events the names and entities that they are about, as they
// are now, in one commit with its own position. When it has caught up, it fences the source, so
// that nothing changes any more, copies the rest of the feed, and compares both sides: every
// record and every event. What differs, because it changes without an event, it copies then.
//
// Every step can be repeated. A copier that was killed is started again, and goes on from the
// position in the target.
package copier

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
	"github.com/calldibs/dibs/internal/snapshot"
)

// Options are the settings of a copy.
type Options struct {
	// From and To name the source and the target, for operators. A copy goes on only with the same
	// names.
	From, To string
	// Place is what the source tells its callers once it is fenced: where the registry is now. Empty
	// means "another store", since callers need not know the address of a database. A copy goes on
	// only with the same place.
	Place string
	// NoFence stops before the fence: the source goes on, and a later run finishes the copy.
	NoFence bool
	// Progress, if set, is told of every page. The counts of a step begin at zero.
	Progress func(step Step, done int)
}

// Step is a step of a copy.
type Step string

// The steps, in order.
const (
	Copying   Step = "copying"   // events, with the records that they are about
	Documents Step = "documents" // records without events
	Fencing   Step = "fencing"   // the source refuses commits from here on
	Draining  Step = "draining"  // the last events
	Comparing Step = "comparing" // all records and events of both sides
)

// Report is what a finished copy found on both sides.
type Report struct {
	Names     int `json:"names"`
	Entities  int `json:"entities"`
	Documents int `json:"documents"`
	Events    int `json:"events"`
	// Earlier says that an earlier run has finished the copy, and found this.
	Earlier bool `json:"earlier,omitempty"`
	// Refused is how long the source has refused commits until the copy was complete. Zero means
	// that an earlier run has fenced it.
	Refused time.Duration `json:"-"`
}

// Errors that a person can do something about.
var (
	ErrNotEmpty = snapshot.ErrNotEmpty
	ErrOther    = errors.New("the target has a copy of another source")
	ErrMoved    = errors.New("the source has moved to another place")
	ErrInUse    = errors.New("another process writes to the target: stop it, and run the copy again")
	ErrDiffers  = errors.New("source and target still differ")
	// ErrUnfinished is returned for the target of a copy that is not finished.
	ErrUnfinished = errors.New("the copy is not finished: run it again first")

	ErrDone = errors.New("the copy is finished, and the target may have taken changes since")
	// ErrNotTarget is returned by Abandon and Translate for a store that has no copy of the source, or
	// another one.
	ErrNotTarget = errors.New("this is not the target of the copy that has fenced the source")
	// ErrGivenUp is returned by Run if another process has called Abandon meanwhile.
	ErrGivenUp = errors.New("the copy was given up by another process")
)

// continuing is an interface of engines that can number their events from a cursor of another
// store on. Cursors of engines without it are in no other order than theirs.
type continuing interface {
	ContinueAfter(ctx context.Context, cursor dibs.Cursor) error
}

// copying is one run.
type copying struct {
	Options
	source, target dibs.Store
	state          state
	pageSize       int // of events that fit into one commit of the target
	copied         int
	difference     string                      // the last that was found, for an error
	cursors        map[dibs.Cursor]dibs.Cursor // of the target, by those in documents of the source
}

// maxPage is how many events are copied at once.
const maxPage = 250

// rounds is how often the copier catches up with the source before it fences it. Each round has
// only what was committed during the one before.
const rounds = 3

// Run copies everything from source to target, fences the source, and returns when both are the
// same. After an error it can be run again.
func Run(ctx context.Context, source, target dibs.Store, o Options) (Report, error) {
	c := &copying{Options: o, source: source, target: target, pageSize: maxPage}
	if err := c.begin(ctx); err != nil {
		return Report{}, err
	}
	if c.state.Done != 0 {
		report := c.state.Report
		report.Earlier = true
		return report, nil
	}
	fence, err := c.fence(ctx)
	if err != nil {
		return Report{}, err
	}
	var began time.Time
	if fence.Place == "" {
		if err := c.catchUp(ctx); err != nil {
			return Report{}, err
		}
		if c.NoFence {
			return Report{}, nil
		}
		c.tell(Fencing, 0)
		began = time.Now()
	}
	if fence.Place == "" || fence.Copy != c.state.ID { // else an earlier run has fenced it
		if err := c.raise(ctx, record.Fence{Place: c.Told(), To: c.To, Copy: c.state.ID}); err != nil {
			return Report{}, err
		}
	}
	report, err := c.finish(ctx)
	if err == nil && !began.IsZero() {
		report.Refused = time.Since(began)
	}
	return report, err
}

// begin finds out how far an earlier run came, or prepares an empty target.
func (c *copying) begin(ctx context.Context) error {
	if _, ok := c.source.(record.Fencer); !ok {
		return fmt.Errorf("%w: the engine %T has no fence", dibs.ErrUnsupported, c.source)
	}
	err := c.state.load(ctx, c.target)
	switch {
	case err != nil:
		return err
	case c.state.rev > 0 && c.state.From != c.From:
		return fmt.Errorf("%w: %s", ErrOther, c.state.From)
	case c.state.rev > 0:
		return nil
	}
	c.state.From, c.state.ID = c.From, rand.Text()
	if _, err := c.fence(ctx); err != nil {
		return err
	}
	if err := snapshot.CheckEmpty(ctx, dibs.Part{Store: c.target}); errors.Is(err, ErrNotEmpty) {
		return fmt.Errorf("%w: give a new store, or empty this one", err)
	} else if err != nil {
		return err
	}
	if err := c.continueCursors(ctx); err != nil {
		return err
	}
	return c.commit(ctx, c.withState(dibs.Group{}))
}

// continueCursors makes cursors of the source useless in the target rather than wrong. Engines of
// different kinds refuse each other's cursors. On engines of the same kind every cursor of the
// source is before the target's first event, so that a reader gets all events again.
func (c *copying) continueCursors(ctx context.Context) error {
	engine, ok := c.target.(continuing)
	if !ok {
		return nil
	}
	latest, err := c.source.Latest(ctx)
	if err != nil || latest == "" {
		return err
	}
	if err := engine.ContinueAfter(ctx, latest); !errors.Is(err, dibs.ErrBadCursor) {
		return err
	}
	return nil
}

// fence returns the fence of the source; the zero one if it has none. It is an error if that is not the
// fence of this copy.
func (c *copying) fence(ctx context.Context) (record.Fence, error) {
	fence, err := fenceOf(ctx, c.source)
	ours := fence.To == c.To && fence.Place == c.Told()
	if fence.To == "" { // by an earlier version
		ours = fence.Place == cmp.Or(c.Place, c.To)
	}
	switch {
	case err != nil || fence.Place == "":
	case fence.To == c.To && !ours:
		err = fmt.Errorf("%w: use the same --place again: %s", ErrMoved, fence.Place)
	case !ours || fence.Finished && fence.Copy != c.state.ID:
		err = fmt.Errorf("%w: %s", ErrMoved, cmp.Or(fence.To, fence.Place))
	}
	return fence, err
}

// Told returns what callers of the source are told: where the registry is now.
func (o Options) Told() string { return cmp.Or(o.Place, "another store") }

// MovedTo returns where the registry of a store is now, for operators; empty if it has not moved.
func MovedTo(ctx context.Context, store dibs.Store) (string, error) {
	fence, err := fenceOf(ctx, store)
	return cmp.Or(fence.To, fence.Place), err
}

func fenceOf(ctx context.Context, store dibs.Store) (fence record.Fence, err error) {
	found, err := store.Load(ctx, []dibs.Ref{record.FenceRef})
	if err != nil || len(found.Records) == 0 {
		return fence, err
	}
	return record.ParseFence(record.Place(found.Records[0])), nil
}

// raise fences the source, or changes its fence.
func (c *copying) raise(ctx context.Context, fence record.Fence) error {
	return c.source.(record.Fencer).Fence(ctx, fence.String())
}

// catchUp copies what can be copied while the source changes.
func (c *copying) catchUp(ctx context.Context) error {
	for round := range rounds {
		present, err := c.source.Load(ctx, nil)
		if err != nil {
			return err
		}
		if err := c.follow(ctx, Copying, present.Now); err != nil {
			return err
		}
		if round > 0 {
			continue
		}
		// There may be as many documents as names. Most do not change until the fence.
		if _, err := c.compareRecords(ctx, Documents, snapshot.Documents); err != nil {
			return err
		}
	}
	// What the last step reads of documents must be readable before the source is fenced for it.
	_, _, err := c.cursorsInUse(ctx)
	return err
}

// maxPasses is how often both sides are compared. The first pass copies what differs, and the second finds
// nothing, unless another process writes to the target.
const maxPasses = 4

// finish copies the rest from the fenced source.
func (c *copying) finish(ctx context.Context) (Report, error) {
	if err := c.follow(ctx, Draining, 0); err != nil {
		return Report{}, err
	}
	for range maxPasses {
		report, different, err := c.compare(ctx)
		if err != nil {
			return Report{}, err
		}
		if different > 0 {
			continue
		}
		return report, c.complete(ctx, report)
	}
	return Report{}, fmt.Errorf("%w after %d attempts, in %s: %w", ErrDiffers, maxPasses, c.difference, ErrInUse)
}

// complete marks both sides. The source is first: before the target takes a change, the source says that
// its fence must stay, whatever happens to the target.
func (c *copying) complete(ctx context.Context, report Report) error {
	fence, err := c.fence(ctx)
	if err == nil && (fence.Place == "" || fence.Copy != c.state.ID) {
		err = ErrGivenUp
	}
	if err != nil {
		return err
	}
	fence.Finished = true
	if err := c.raise(ctx, fence); err != nil {
		return err
	}
	present, err := c.target.Load(ctx, nil)
	if err != nil {
		return err
	}
	if c.state.End, err = c.target.Latest(ctx); err != nil {
		return err
	}
	c.state.Done, c.state.Report = present.Now, report
	return c.commit(ctx, c.withState(dibs.Group{}))
}

func (c *copying) tell(step Step, done int) {
	if c.Progress != nil {
		c.Progress(step, done)
	}
}

// Abandon gives up a copy: the source takes commits again. It is refused once the copy is
// finished, since both sides could then change on their own. The target is that of the copy; nil if it
// is lost.
func Abandon(ctx context.Context, source, target dibs.Store, o Options) error {
	c := &copying{Options: o, source: source, target: target}
	if target != nil {
		if err := c.state.load(ctx, target); err != nil {
			return err
		}
	}
	fence, err := c.fence(ctx)
	fenced := fence.Place != ""
	switch {
	case fence.Finished:
		return ErrDone
	case target != nil && (c.state.rev == 0 || c.state.From != o.From || fenced && fence.Copy != c.state.ID):
		return ErrNotTarget
	case c.state.Done != 0: // by a version that did not tell the source
		return ErrDone
	case err != nil || !fenced:
		return err
	case target == nil && fence.Copy == "":
		return fmt.Errorf("%w: an earlier version of Dibs has fenced it, so only the target says whether the copy is finished", ErrNotTarget)
	}
	if target != nil {
		// A copier that still runs cannot finish from here on.
		if err := c.commit(ctx, c.withState(dibs.Group{})); err != nil {
			return err
		}
	}
	return source.(record.Fencer).Unfence(ctx)
}
