package pgstore

import (
	"sync"
	"time"

	"github.com/calldibs/dibs"
)

const (
	// busyPause is how long a locked record is left alone before it is tried again.
	busyPause = 50 * time.Millisecond
	// busyMemory is how long a record that was locked is tried apart from others.
	busyMemory = 5 * time.Second
	// maxBusy bounds what is remembered. Beyond it a locked record holds up a batch
	// for a moment more.
	maxBusy = 1024
)

// busyNames remembers which records were found locked by transactions of others,
// so that one of them holds up a single batch and not every one.
type busyNames struct {
	mu   sync.Mutex
	seen map[dibs.ID]time.Time // when it was last found locked
}

// busyness is what is known of a group's records.
type busyness int

const (
	notBusy   busyness = iota
	wasBusy            // some time ago: worth a try, but not together with others
	stillBusy          // a moment ago
)

func (b *busyNames) check(g *dibs.Group, now time.Time) busyness {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.seen) == 0 {
		return notBusy
	}
	found := notBusy
	for i := range g.Reads {
		id := g.Reads[i].Ref.ID
		at, ok := b.seen[id]
		switch passed := now.Sub(at); {
		case !ok:
		case passed < busyPause:
			return stillBusy
		case passed < busyMemory:
			found = wasBusy
		default:
			delete(b.seen, id)
		}
	}
	return found
}

// note takes in that one of a group's records is locked. Which one, nobody tells:
// those that the group changes are candidates.
func (b *busyNames) note(g *dibs.Group, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen == nil || len(b.seen) >= maxBusy {
		b.seen = make(map[dibs.ID]time.Time)
	}
	for i := range g.Writes {
		b.seen[g.Writes[i].Record.Ref().ID] = now
	}
}

// forget takes in that a group's records could be had.
func (b *busyNames) forget(g *dibs.Group) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.seen) == 0 {
		return
	}
	for i := range g.Reads {
		delete(b.seen, g.Reads[i].Ref.ID)
	}
}
