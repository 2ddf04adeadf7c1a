package torture

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	end     dibs.Cursor // of what was compared
	streams []*stream
	cancel  context.CancelFunc

	mu        sync.Mutex
	histories []linear.Finished
	found     []Violation
}

// beginAudit starts to follow the feed.
func (t *run) beginAudit() (*audit, error) {
	a := &audit{t: t, reader: t.servers[0].patient}
	ctx, cancel := context.WithCancel(context.Background())
	a.cancel = cancel
	page, err := patiently(func(ctx context.Context) (dibs.EventPage, error) {
		return a.reader.Events(ctx, dibs.FeedQuery{After: dibs.Latest})
	})
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

// patiently tries again while a server has no time.
func patiently[T any](ask func(context.Context) (T, error)) (answer T, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), mostStarting)
	defer cancel()
	for {
		answer, err = ask(ctx)
		if err == nil || isDamage(err) || !errors.Is(err, dibs.ErrUnavailable) || ctx.Err() != nil {
			return answer, err
		}
		time.Sleep(10 * time.Millisecond)
	}
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
	events []string
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
			if !s.isOwn(e) {
				continue
			}
			s.mu.Lock()
			s.events = append(s.events, identity(e))
			s.mu.Unlock()
		}
	}
}

// isOwn reports whether an event is about the names of the run. Others forget and purge theirs in a store of
// the user's, which changes events.
func (a *audit) isOwn(e dibs.Event) bool {
	within := e.Scope
	if !e.ID.IsZero() {
		within = e.Namespace
	}
	return a.t.isPrivate() || strings.HasPrefix(within+".", a.t.scope+".")
}

// first returns the first n events, and waits until there are so many.
func (s *stream) first(n int) []string {
	for deadline := time.Now().Add(mostStarting); ; time.Sleep(5 * time.Millisecond) {
		s.mu.Lock()
		events := slices.Clone(s.events[:min(n, len(s.events))])
		s.mu.Unlock()
		if len(events) == n || time.Now().After(deadline) {
			return events
		}
	}
}

// identity is all that an event says. Its cursor may differ between pages and streams.
func identity(e dibs.Event) string {
	e.Cursor = ""
	return fmt.Sprintf("%+v", e)
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
	events      []string
	states      map[string]int // how many events ended in each
	first, last dibs.Event
}

// feed is the events of a round.
type feed struct {
	events   []string
	chains   map[dibs.ID]*chain
	entities map[string]int // the changes of entities as a whole
}

// entityChange is what the answer to a change of an entity as a whole and the event about it have in
// common.
func entityChange(kind dibs.EventKind, scope string, entity dibs.Entity, version uint64) string {
	return fmt.Sprintf("%s in %s was %s, version %d", entity, scope, kind, version)
}

// compare compares everything, and adds to the figures.
func (a *audit) compare(sum *Audit) []Violation {
	fed, err := a.readFeed()
	if err != nil {
		return []Violation{{Kind: "audit", What: "the feed cannot be read: " + err.Error()}}
	}
	for i, s := range a.streams {
		if streamed := s.first(len(fed.events)); !slices.Equal(streamed, fed.events) {
			a.wrong("the stream of server %d differs from the feed: %s", i+1, difference(streamed, fed.events))
		}
	}
	var group errgroup.Group
	group.SetLimit(8)
	for _, f := range a.histories {
		group.Go(func() error {
			a.compareChanges(f, fed)
			a.compareNames(f, fed.chains, a.isInTail)
			return nil
		})
		sum.Names += len(f.Values)
		sum.Entities += len(f.Entities)
		sum.Changes += len(f.Changes) + len(f.OfEntities)
	}
	_ = group.Wait() // it has no errors
	sum.Events += len(fed.events)
	sum.Again += a.compareEarlier()
	a.t.keepSome(a.histories, fed.chains)
	return a.found
}

// difference says where a list of events differs from the one that it should be.
func difference(got, want []string) string {
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	at := func(events []string) string {
		if i == len(events) {
			return "nothing"
		}
		return events[i]
	}
	text := fmt.Sprintf("event %d is %s, not %s", i+1, at(got), at(want))
	if i < len(got) {
		if again := slices.Index(got, got[i]); again < i {
			text += fmt.Sprintf("; it has the event already as number %d", again+1)
		}
		if place := slices.Index(want, got[i]); place < 0 {
			text += "; no other one is like it"
		} else if place > i {
			text += fmt.Sprintf("; it should be number %d", place+1)
		}
	}
	return text
}

// readFeed reads the feed of the round, and checks that each event of a name begins where the one
// before it ended.
func (a *audit) readFeed() (fed feed, err error) {
	fed = feed{chains: make(map[dibs.ID]*chain), entities: make(map[string]int)}
	a.end, err = readEvents(a.reader, a.from, func(e dibs.Event) {
		if !a.isOwn(e) {
			return
		}
		fed.events = append(fed.events, identity(e))
		if e.ID.IsZero() {
			fed.entities[entityChange(e.Kind, e.Scope, e.Entity, e.Version)]++
		} else {
			a.link(fed.chains, e)
		}
	})
	return fed, err
}

// readEvents reads the feed from a cursor to its end, by pages.
func readEvents(registry *dibs.Registry, after dibs.Cursor, do func(dibs.Event)) (end dibs.Cursor, err error) {
	for more := true; more; {
		page, err := patiently(func(ctx context.Context) (dibs.EventPage, error) {
			return registry.Events(ctx, dibs.FeedQuery{After: after, Limit: 1000})
		})
		if err != nil {
			return after, err
		}
		for _, e := range page.Events {
			do(e)
		}
		after, more = page.Next, page.More
	}
	return after, nil
}

// isInTail reports whether an event is in the feed after what was compared: time goes on, and a command
// without an answer may still happen.
func (a *audit) isInTail(wanted dibs.Event) (found bool, err error) {
	_, err = readEvents(a.reader, a.end, func(e dibs.Event) { found = found || identity(e) == identity(wanted) })
	return found, err
}

// link adds an event to the chain of its name.
func (a *audit) link(chains map[dibs.ID]*chain, e dibs.Event) {
	c := chains[e.ID]
	if c == nil {
		c = &chain{states: make(map[string]int), first: e}
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
	c.events, c.last = append(c.events, identity(e)), e
	c.states[stateOf(e.After.State, e.After.Epoch, e.After.Entity)]++
}

// compareChanges compares what was acknowledged with the feed: each change has an event of its own.
func (a *audit) compareChanges(f linear.Finished, fed feed) {
	acknowledged := make(map[linear.Change]int)
	for _, change := range f.Changes {
		acknowledged[change]++
	}
	for change, n := range acknowledged {
		if change.Both {
			n = 1
		}
		events, state := 0, stateOf(change.State, change.Epoch, change.Entity)
		if c := fed.chains[dibs.NameID(f.Namespace, change.Value)]; c != nil {
			events = c.states[state]
		}
		if events < n {
			a.wrong("%s:%s: a change was acknowledged that is not in the feed: %s, acknowledged %d times, has %d events",
				f.Namespace, change.Value, state, n, events)
		}
	}
	for _, change := range f.OfEntities {
		if what := entityChange(change.Kind, f.Scope, change.Entity, change.Version); fed.entities[what] != 1 {
			a.wrong("a change was acknowledged that is not in the feed: %s, has %d events", what, fed.entities[what])
		}
	}
}

// compareNames compares the names of a history, and their entities. Events that the feed of the round
// does not have must be later.
func (a *audit) compareNames(f linear.Finished, chains map[dibs.ID]*chain, later func(dibs.Event) (bool, error)) {
	owned := make(map[dibs.Entity][]string)
	for _, value := range f.Values {
		c := chains[dibs.NameID(f.Namespace, value)]
		if c == nil {
			c = &chain{}
		}
		if c.first.Before.Epoch != 0 {
			a.wrong("%s:%s: the first event, %s, begins with %+v", f.Namespace, value, c.first.Kind, c.first.Before)
		}
		n, err := a.compareName(f.Namespace, value, c, later)
		if err != nil {
			a.wrong("%s:%s: %v", f.Namespace, value, err)
			continue
		}
		if n.State == dibs.Active || n.State == dibs.Alias {
			owned[n.Entity] = append(owned[n.Entity], value)
		}
	}
	if err := a.compareList(f, owned); err != nil {
		a.wrong("%s: %v", f.Namespace, err)
	}
	for _, entity := range f.Entities {
		var names []string
		info, err := patiently(func(ctx context.Context) (dibs.EntityInfo, error) { return a.reader.Entity(ctx, f.Scope, entity) })
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
func (a *audit) compareName(namespace, value string, c *chain, later func(dibs.Event) (bool, error)) (n dibs.Name, err error) {
	history, err := patiently(func(ctx context.Context) ([]dibs.Event, error) { return a.reader.History(ctx, namespace, value) })
	if err != nil {
		return n, err
	}
	for i, e := range history {
		if i < len(c.events) {
			if identity(e) != c.events[i] {
				return n, fmt.Errorf("event %d of the history is another one than in the feed: %+v", i+1, e)
			}
			continue
		}
		if fed, err := later(e); err != nil || !fed {
			return n, errors.Join(err, fmt.Errorf("event %d of the history is not in the feed: %+v", i+1, e))
		}
		c.events = append(c.events, identity(e)) // it must stay
	}
	if len(history) < len(c.events) {
		return n, fmt.Errorf("the history has %d events, the feed %d", len(history), len(c.events))
	}
	n, err = patiently(func(ctx context.Context) (dibs.Name, error) {
		return a.reader.Get(ctx, dibs.Lookup{Namespace: namespace, Value: value})
	})
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

// compareList compares the list of owned names with what the names say.
func (a *audit) compareList(f linear.Finished, owned map[dibs.Entity][]string) error {
	listed := make(map[dibs.Entity][]string)
	page, err := patiently(func(ctx context.Context) (dibs.NamesPage, error) {
		return a.reader.List(ctx, dibs.NamesQuery{Namespace: f.Namespace})
	})
	for _, n := range page.Names {
		if n.State == dibs.Active || n.State == dibs.Alias {
			listed[n.Entity] = append(listed[n.Entity], n.Value)
		}
	}
	if err == nil && !maps.EqualFunc(listed, owned, slices.Equal) {
		err = fmt.Errorf("the list of names has %v, the names say %v", listed, owned)
	}
	return err
}
