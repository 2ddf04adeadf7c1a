package torture

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/linear"
)

// audit compares everything that the registry says about the names of a round: the feed by
// pages, the feed as each server streamed it during the round, the history and the state of each
// name, the names of each entity, and what was acknowledged to callers.
type audit struct {
	t       *run
	reader  *dibs.Registry
	from    dibs.Cursor // the beginning of the round
	seed    maphash.Seed
	streams []*stream
	cancel  context.CancelFunc

	mu        sync.Mutex
	histories []linear.Finished
	found     []Violation
}

// beginAudit starts to follow the feed.
func (t *run) beginAudit() (*audit, error) {
	a := &audit{t: t, reader: t.servers[0].patient, seed: maphash.MakeSeed()}
	ctx, cancel := context.WithCancel(context.Background())
	a.cancel = cancel
	page, err := a.reader.Events(ctx, dibs.FeedQuery{After: dibs.Latest})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("the feed cannot be read: %w", err)
	}
	a.from = page.Next
	for _, s := range t.servers {
		follower := &stream{audit: a, ended: make(chan struct{})}
		a.streams = append(a.streams, follower)
		go follower.run(ctx, s.patient)
	}
	return a, nil
}

func (a *audit) stop() {
	a.cancel()
	for _, s := range a.streams {
		<-s.ended
	}
}

// finished takes what callers know about a history.
func (a *audit) finished(f linear.Finished) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.histories = append(a.histories, f)
}

// maxFound is how many violations of an audit are reported.
const maxFound = 10

func (a *audit) wrong(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.found) < maxFound {
		a.found = append(a.found, Violation{Kind: "audit", What: fmt.Sprintf(format, args...)})
	}
}

// stream follows the feed of a server. It goes on after interruptions.
type stream struct {
	*audit
	ended chan struct{}

	mu     sync.Mutex
	events []uint64 // their hashes
}

func (s *stream) run(ctx context.Context, registry *dibs.Registry) {
	defer close(s.ended)
	after := s.from
	for ctx.Err() == nil {
		for e, err := range registry.Watch(ctx, dibs.FeedQuery{After: after}) {
			if err != nil {
				time.Sleep(20 * time.Millisecond) // the server may be away
				break
			}
			after = e.Cursor
			s.mu.Lock()
			s.events = append(s.events, s.hash(e))
			s.mu.Unlock()
		}
	}
}

// first returns the first n events, and waits until there are so many.
func (s *stream) first(n int) []uint64 {
	for deadline := time.Now().Add(mostStarting); ; time.Sleep(5 * time.Millisecond) {
		s.mu.Lock()
		events := slices.Clone(s.events[:min(n, len(s.events))])
		s.mu.Unlock()
		if len(events) == n || time.Now().After(deadline) {
			return events
		}
	}
}

// hash identifies an event. Its cursor may differ between pages and streams.
func (a *audit) hash(e dibs.Event) uint64 {
	e.Cursor = ""
	return maphash.String(a.seed, fmt.Sprintf("%+v", e))
}

// state is what the answer to a change and the event about it have in common.
func stateOf(state dibs.State, epoch uint64, entity dibs.Entity) string {
	if state == dibs.Free || state == dibs.Quarantined {
		entity = dibs.Entity{} // only some answers tell the last owner
	}
	return fmt.Sprintf("%s in epoch %d, of %v", state, epoch, entity)
}

// chain is the events of a name, in the order of the feed.
type chain struct {
	events []uint64
	states map[string]bool
	last   dibs.Event
}

// compare compares everything, and adds to the figures.
func (a *audit) compare(sum *Audit) []Violation {
	events, chains, err := a.readFeed()
	if err != nil {
		return []Violation{{Kind: "audit", What: "the feed cannot be read: " + err.Error()}}
	}
	for i, s := range a.streams {
		if streamed := s.first(len(events)); !slices.Equal(streamed, events) {
			a.wrong("the stream of server %d differs from the feed: it has %d of %d events, and differs from number %d on",
				i+1, len(streamed), len(events), firstDifference(streamed, events))
		}
	}
	var group errgroup.Group
	group.SetLimit(8)
	for _, f := range a.histories {
		group.Go(func() error {
			a.compareNames(f, chains)
			return nil
		})
		sum.Names += len(f.Values)
		sum.Entities += len(f.Entities)
		sum.Changes += len(f.Changes)
	}
	_ = group.Wait() // it has no errors
	sum.Events += len(events)
	return a.found
}

func firstDifference(x, y []uint64) int {
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return i + 1
		}
	}
	return min(len(x), len(y)) + 1
}

// readFeed reads the feed of the round, and checks that each event of a name begins where the one
// before it ended.
func (a *audit) readFeed() (events []uint64, chains map[dibs.ID]*chain, err error) {
	chains = make(map[dibs.ID]*chain)
	ctx, cancel := context.WithTimeout(context.Background(), mostStarting)
	defer cancel()
	for after, more := a.from, true; more; {
		page, err := a.reader.Events(ctx, dibs.FeedQuery{After: after, Limit: 1000})
		if err != nil {
			return nil, nil, err
		}
		for _, e := range page.Events {
			events = append(events, a.hash(e))
			if !e.ID.IsZero() {
				a.link(chains, e)
			}
		}
		after, more = page.Next, page.More
	}
	return events, chains, nil
}

// link adds an event to the chain of its name.
func (a *audit) link(chains map[dibs.ID]*chain, e dibs.Event) {
	c := chains[e.ID]
	if c == nil {
		c = &chain{states: make(map[string]bool)}
		chains[e.ID] = c
	} else {
		switch last := c.last; {
		case e.Rev <= last.Rev:
			a.wrong("%s: the revision goes from %d to %d, at %s", e.Key(), last.Rev, e.Rev, e.Kind)
		case e.Epoch < last.Epoch:
			a.wrong("%s: the epoch goes from %d to %d, at %s", e.Key(), last.Epoch, e.Epoch, e.Kind)
		case e.Before != last.After:
			a.wrong("%s: %s begins with %+v, the event before it ended with %+v", e.Key(), e.Kind, e.Before, last.After)
		}
	}
	c.events, c.last = append(c.events, a.hash(e)), e
	c.states[stateOf(e.After.State, e.After.Epoch, e.After.Entity)] = true
}

// compareNames compares the names of a history, and their entities.
func (a *audit) compareNames(f linear.Finished, chains map[dibs.ID]*chain) {
	ctx, cancel := context.WithTimeout(context.Background(), mostStarting)
	defer cancel()
	owned := make(map[dibs.Entity][]string)
	for _, value := range f.Values {
		id := dibs.NameID(f.Namespace, value)
		c := chains[id]
		if c == nil {
			c = &chain{}
		}
		for _, change := range f.Changes {
			if state := stateOf(change.State, change.Epoch, change.Entity); change.Value == value && !c.states[state] {
				a.wrong("%s:%s: a change was acknowledged that is not in the feed: %s", f.Namespace, value, state)
			}
		}
		n, err := a.compareName(ctx, f.Namespace, value, c)
		if err != nil {
			a.wrong("%s:%s: %v", f.Namespace, value, err)
			continue
		}
		if n.State == dibs.Active || n.State == dibs.Alias {
			owned[n.Entity] = append(owned[n.Entity], value)
		}
	}
	for _, entity := range f.Entities {
		var names []string
		info, err := a.reader.Entity(ctx, f.Scope, entity)
		if err != nil && !errors.Is(err, dibs.ErrEntityNotFound) {
			a.wrong("%s in %s: %v", entity, f.Scope, err)
			continue
		}
		for _, n := range info.Names {
			names = append(names, n.Value)
		}
		slices.Sort(names)
		if !slices.Equal(names, owned[entity]) {
			a.wrong("%s in %s has the names %v, the names say %v", entity, f.Scope, names, owned[entity])
		}
	}
}

// compareName compares feed, history and state of a name. Only time may have passed in between.
func (a *audit) compareName(ctx context.Context, namespace, value string, c *chain) (n dibs.Name, err error) {
	history, err := a.reader.History(ctx, namespace, value)
	if err != nil {
		return n, err
	}
	for i, e := range history {
		switch {
		case i < len(c.events) && a.hash(e) != c.events[i]:
			return n, fmt.Errorf("event %d of the history is another one than in the feed: %+v", i+1, e)
		case i >= len(c.events) && e.Actor != "":
			return n, fmt.Errorf("event %d of the history is not in the feed: %+v", i+1, e)
		}
	}
	if len(history) < len(c.events) {
		return n, fmt.Errorf("the history has %d events, the feed %d", len(history), len(c.events))
	}
	n, err = a.reader.Get(ctx, dibs.Lookup{Namespace: namespace, Value: value})
	switch {
	case errors.Is(err, dibs.ErrNotFound) && len(history) == 0:
		return n, nil
	case err != nil:
		return n, err
	case len(history) == 0:
		return n, fmt.Errorf("it is %s, and has no history", n.State)
	}
	last := history[len(history)-1].After
	lapsed := last.State == dibs.Held && n.Status == dibs.StatusExpired && n.Epoch == last.Epoch
	if is, was := stateOf(n.State, n.Epoch, n.Entity), stateOf(last.State, last.Epoch, last.Entity); is != was && !lapsed {
		return n, fmt.Errorf("it is %s; by its history it is %s", is, was)
	}
	return n, nil
}
