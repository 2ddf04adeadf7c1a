package nametest

import (
	"context"
	"fmt"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// party is what keeps a name from others: an entity, or a hold without an entity.
type party struct {
	entity dibs.Entity
	hold   string
}

// partyOf returns the party that has a name after an event, if any.
func partyOf(e *dibs.Event) (p party, some bool) {
	switch {
	case e.After.State == dibs.Free:
		return party{}, false
	case e.After.Entity.IsZero():
		return party{hold: fmt.Sprintf("%s, epoch %d", e.Key(), e.Epoch)}, true
	default:
		return party{entity: e.After.Entity}, true
	}
}

func (p party) String() string {
	if p.hold != "" {
		return "a hold on " + p.hold
	}
	return p.entity.String()
}

// fold follows the feed, and fails if two parties have look-alikes at the same time, or if
// the history of a name has a gap.
type fold struct {
	revs    map[string]uint64
	parties map[string]map[string]party // by skeleton, then by name
}

func newFold() *fold {
	return &fold{revs: make(map[string]uint64), parties: make(map[string]map[string]party)}
}

func (f *fold) add(e *dibs.Event) error {
	if e.ID.IsZero() {
		return nil
	}
	key, skeleton := e.Key(), coretest.Digits{}.Skeleton(e.Key())
	if e.Rev <= f.revs[key] {
		return fmt.Errorf("%s: revision %d follows %d", key, e.Rev, f.revs[key])
	}
	f.revs[key] = e.Rev
	names := f.parties[skeleton]
	if names == nil {
		names = make(map[string]party)
		f.parties[skeleton] = names
	}
	p, some := partyOf(e)
	if !some {
		delete(names, key)
		return nil
	}
	names[key] = p
	for other, has := range names {
		if has != p {
			return fmt.Errorf("%s belongs to %s since it was %s, while %s belongs to %s", key, p, e.Kind, other, has)
		}
	}
	return nil
}

// checkFeed folds the whole feed, and returns its number of events.
func checkFeed(tb testing.TB, reg *dibs.Registry) (events int) {
	tb.Helper()
	f := newFold()
	eachEvent(tb, reg, func(e *dibs.Event) {
		events++
		if err := f.add(e); err != nil {
			tb.Error(err)
		}
	})
	return events
}

// eachEvent calls fn with every event of the feed.
func eachEvent(tb testing.TB, reg *dibs.Registry, fn func(*dibs.Event)) {
	tb.Helper()
	query := dibs.FeedQuery{Limit: 1000}
	for {
		page, err := reg.Events(context.Background(), query)
		if err != nil {
			tb.Fatal(err)
		}
		for i := range page.Events {
			fn(&page.Events[i])
		}
		if len(page.Events) < query.Limit {
			return
		}
		query.After = page.Next
	}
}

// word writes a number in letters, none of which looks like another.
func word(n int) string {
	const letters = "abcdefghijkmnpqrtuvwxyz"
	text := ""
	for {
		text = string(letters[n%len(letters)]) + text
		if n /= len(letters); n == 0 {
			return text
		}
	}
}

// spellings is the number of look-alike spellings of a name.
const spellings = 16

// spell returns the i-th spelling of the n-th name.
func spell(n, i int) string {
	text := []byte("lolo")
	for bit := range text {
		if i>>bit&1 == 1 {
			text[bit] = map[byte]byte{'l': '1', 'o': '0'}[text[bit]]
		}
	}
	return string(text) + "-" + word(n)
}
