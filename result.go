package dibs

import (
	"time"
)

// Name is a name as readers and callers see it, at one moment.
type Name struct {
	ID        ID
	Namespace string
	Value     string // as the person wrote it; empty if it was forgotten
	Canonical string // empty if it was forgotten
	State     State
	Status    Status
	Epoch     uint64

	// Entity is the owner; of a hold the owner-to-be, of a given-up name the last
	// owner. Zero means none.
	Entity        Entity
	Version       uint64 // the entity's version, where Get or a command on its names tells it; else 0
	Principal     string // who reserved it
	CorrelationID string
	Meta          map[string]string

	CreatedAt   time.Time     // when this epoch began
	ExpiresAt   time.Time     // of a hold
	Remaining   time.Duration // of a live hold, by the engine's clock
	ConfirmedAt time.Time
	EndedAt     time.Time // when it was released, expired or given up
	Until       time.Time // the end of a quarantine, or of an alias's redirecting
	Doubt       string    // of a suspect: why it is one still
	Asked       int       // of a suspect: how often its witness was asked and did not know
	AskAt       time.Time // of a suspect: when its witness is asked next
}

// Key returns namespace:canonical.
func (n Name) Key() string { return n.Namespace + ":" + n.Canonical }

// Hold is a reservation with its proof.
type Hold struct {
	Name
	// Token is the proof. Keep it: it is not stored and cannot be shown again.
	Token string
	// Replayed says that the hold was there already.
	Replayed bool
}

// Result is what a command did, or would do in a dry run.
type Result struct {
	// Names are the names that the command was about, as they are after it.
	Names []Name
	// Token is that of a Reserve, ReserveAll or ReserveFirst.
	Token string
	// Replayed says that the result stood already and nothing was changed.
	Replayed bool
	// Version is the entity's version after a command on an entity's names.
	Version uint64
	// Freed and Quarantined are the keys that a Delete or Decommission gave up.
	Freed, Quarantined []string
	// Pending says that a deleted entity has names left, which follow in batches.
	Pending bool
}

// hold returns one name of a reserving command, with its token.
func (r *Result) hold(i int) Hold {
	return Hold{Name: r.Names[i], Token: r.Token, Replayed: r.Replayed}
}
