package dibs

import "time"

// Name is a name at one moment.
type Name struct {
	ID        ID
	Namespace string
	Value     string // as the person wrote it; empty if it was forgotten
	Canonical string // empty if it was forgotten
	State     State
	Status    Status
	Epoch     uint64

	// Entity is the owner; of a hold the intended owner, of a name that was given up the last
	// owner. Zero means none.
	Entity        Entity
	Version       uint64 // the entity's version; 0 unless a command or a Lookup with Version returns it
	Principal     string // of the hold
	CorrelationID string
	Meta          map[string]string

	CreatedAt   time.Time     // when this epoch began
	ExpiresAt   time.Time     // of a hold
	Remaining   time.Duration // of a live hold, by the engine's clock
	ConfirmedAt time.Time
	EndedAt     time.Time // when it was released, expired or given up
	Until       time.Time // the end of a quarantine or of an alias
	Doubt       string    // of a suspect: why there is no verdict yet
	Asked       int       // of a suspect: how often its witness had no verdict
	AskAt       time.Time // of a suspect: when its witness is asked next
}

// Key returns namespace:canonical.
func (n Name) Key() string { return n.Namespace + ":" + n.Canonical }

// Hold is a reservation with its token.
type Hold struct {
	Name
	// Token proves the hold. Keep it: the registry does not store it.
	Token string
	// Replayed says that the hold already existed.
	Replayed bool
}

// Result is what a command did, or would do in a dry run.
type Result struct {
	// Names are the names of the command, as they are after it.
	Names []Name
	// Token is that of a Reserve, ReserveAll or ReserveFirst; else empty.
	Token string
	// Replayed says that nothing changed because the result already stood.
	Replayed bool
	// Version is the entity's version after a command on an entity's names.
	Version uint64
	// Freed and Quarantined are the keys that a Delete or Decommission gave up.
	Freed, Quarantined []string
	// Pending says that a deleted entity has names left, which sweeps give up.
	Pending bool
}

// hold returns name i of a reserving command, with its token.
func (r *Result) hold(i int) Hold {
	return Hold{Name: r.Names[i], Token: r.Token, Replayed: r.Replayed}
}
