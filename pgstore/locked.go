package pgstore

import (
	"sync"
	"time"

	"github.com/calldibs/dibs"
)

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
	if len(l.seen) == 0 {
		return unlocked
	}
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
	if len(l.seen) == 0 {
		return
	}
	for i := range g.Reads {
		delete(l.seen, g.Reads[i].Ref.ID)
	}
}
