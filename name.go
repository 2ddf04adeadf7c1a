package dibs

import "time"

// State is the state of a name.
type State string

// The states of a name.
const (
	Free        State = "free"        // available
	Held        State = "held"        // reserved, until ExpiresAt
	Suspect     State = "suspect"     // reserved, past ExpiresAt, waiting for a witness
	Active      State = "active"      // the present name of an entity
	Alias       State = "alias"       // a former name of an entity, which redirects
	Quarantined State = "quarantined" // given up; until a date, only its last entity can take it
)

// Status is the status of a name's last reservation.
type Status string

// The statuses of a reservation.
const (
	StatusReserved  Status = "reserved"
	StatusSuspect   Status = "suspect"
	StatusConfirmed Status = "confirmed"
	StatusReleased  Status = "released"
	StatusExpired   Status = "expired"
)

// Name is a name at one moment. A zero time means no date.
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
	Archived      bool   // whether the entity is archived; false unless List, Entity or a Lookup with Version returns it
	Principal     string // of the hold
	CorrelationID string
	Meta          map[string]string

	CreatedAt   time.Time     // when this epoch began
	ExpiresAt   time.Time     // the end of the hold; kept after it is over
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
