package dibs

// Command is a change to the registry: one of the command types of this package,
// such as [Reserve] or [Rename]. Every change goes through [Registry.Apply]; each
// verb of the Registry is an Apply of one.
type Command interface {
	// Op returns the command's name, as on the wire, such as "reserve" or "reserveAll".
	Op() string
}

// Reserve holds a name for a limited time: free becomes held.
type Reserve struct {
	Namespace string
	Value     string

	// TTL is how long the hold lasts. Zero means the policy's default.
	TTL TTL
	// Token is the proof of the hold, of the caller's choosing: 16 to 128
	// characters of visible ASCII, random and secret. Reserving again with the
	// same token gives the same hold, so a lost answer can be asked for again.
	// Empty means that a random one is made: then a lost answer cannot be.
	Token string
	// Entity is the owner-to-be, for the witness; Confirm then takes no other.
	// It is also what gets a name out of its own quarantine. Zero means none.
	Entity Entity
	// CorrelationID is kept with the hold and its events: up to 255 bytes.
	CorrelationID string
	// Meta is kept with the hold: up to 16 entries of 255 bytes each.
	Meta map[string]string
	// Field is what errors call this name, such as a form's field. Empty means
	// the namespace's type.
	Field string
	// OverrideReserved asks for a reserved word. It takes the right
	// [OverrideReserved].
	OverrideReserved bool
}

// ReserveAll reserves several names, all of them or none, with one token.
type ReserveAll struct {
	// Reservations are 1 to 32 names, no two the same. Their own Tokens must be
	// empty.
	Reservations []Reserve
	// Token holds all of them; see [Reserve]. Empty means that one is made.
	Token string
}

// ReserveFirst reserves the candidate that the token holds already, else the
// first one that is available, in one decision.
type ReserveFirst struct {
	Namespace string
	// Values are 1 to 32 candidates, the best first.
	Values []string

	// The rest is as in [Reserve].

	TTL              TTL
	Token            string
	Entity           Entity
	CorrelationID    string
	Meta             map[string]string
	Field            string
	OverrideReserved bool
}

// Extend moves the end of a hold to TTL from now, never past the policy's MaxHold
// since the hold began. It never makes a hold shorter.
type Extend struct {
	ID    ID
	Token string
	TTL   TTL // zero means the policy's default
}

// Confirm makes a held name the active name of an entity.
type Confirm struct {
	ID     ID
	Token  string
	Entity Entity

	// Replace makes the entity's present name an alias of the new one. Without it
	// an entity that has a name here is refused.
	Replace bool
	// Replaces says which name is replaced, where an entity may have many. It
	// implies Replace.
	Replaces string
}

// Release lets a hold go: the name is free at once.
type Release struct {
	ID    ID
	Token string
}

// Claim takes a free name for an entity at once: reserve and confirm in one
// decision.
type Claim struct {
	Namespace string
	Value     string
	Entity    Entity

	CorrelationID    string            // as in [Reserve]
	Meta             map[string]string // as in [Reserve]
	Field            string            // as in [Reserve]
	OverrideReserved bool              // as in [Reserve]
}

// Rename gives an entity another active name; the present one becomes an alias.
// The new one may be free, held with Token, or one of the entity's own aliases.
// An entity without a name here claims it.
type Rename struct {
	Namespace string
	Entity    Entity
	Value     string

	// From is the name that is replaced, where an entity may have many. Elsewhere
	// it may be empty; if it is not, it must be the active name.
	From string
	// Token is that of a hold on the new name. Empty means that there is none.
	Token string
	// IfVersion refuses the command unless it is the entity's version. Zero means
	// any.
	IfVersion uint64

	CorrelationID    string // as in [Reserve]; empty leaves that of a hold or an alias
	Field            string // as in [Reserve]
	OverrideReserved bool   // as in [Reserve]
}

// Archive is the soft delete: every name of the entity stays reserved, none
// resolves.
type Archive struct {
	Scope  string // the entity's scope; empty for namespaces without one
	Entity Entity
}

// Restore undoes an Archive.
type Restore struct {
	Scope  string
	Entity Entity
}

// Delete is the hard delete: every name and alias of the entity, in every
// namespace of its scope, becomes quarantined or free as its policy says. Of an
// entity with more than 32 names the rest follows in batches, by sweeping; none of
// them resolves from the first moment.
type Delete struct {
	Scope  string
	Entity Entity
}

// Decommission gives up one name of an entity, active or alias.
type Decommission struct {
	Namespace string
	Value     string
	Entity    Entity
}

// Transfer gives one name of an entity to another, with no moment in which it is
// free. It becomes the active name of the receiver, who must have none here.
type Transfer struct {
	Namespace string
	Value     string
	From, To  Entity
}

// Swap lets two entities exchange active names in one step. The command says how
// things stand before it.
type Swap struct {
	Namespace string
	A, B      Named
}

// Named is an entity and its active name.
type Named struct {
	Value  string
	Entity Entity
}

// Rekey files a name of a blind namespace under the keys that its policy has by now.
// The registry does not know the value: whoever does, the user table say, tells it. It
// changes nothing that anybody could see.
type Rekey struct {
	Namespace string
	Value     string
}

// Settle ends a suspect by an operator's word. It takes the right [Operate].
type Settle struct {
	ID      ID
	Verdict Verdict // [Exists] or [Absent]
}

// Op returns "reserve".
func (Reserve) Op() string { return "reserve" }

// Op returns "reserveAll".
func (ReserveAll) Op() string { return "reserveAll" }

// Op returns "reserveFirst".
func (ReserveFirst) Op() string { return "reserveFirst" }

// Op returns "extend".
func (Extend) Op() string { return "extend" }

// Op returns "confirm".
func (Confirm) Op() string { return "confirm" }

// Op returns "release".
func (Release) Op() string { return "release" }

// Op returns "claim".
func (Claim) Op() string { return "claim" }

// Op returns "rename".
func (Rename) Op() string { return "rename" }

// Op returns "archive".
func (Archive) Op() string { return "archive" }

// Op returns "restore".
func (Restore) Op() string { return "restore" }

// Op returns "delete".
func (Delete) Op() string { return "delete" }

// Op returns "decommission".
func (Decommission) Op() string { return "decommission" }

// Op returns "transfer".
func (Transfer) Op() string { return "transfer" }

// Op returns "swap".
func (Swap) Op() string { return "swap" }

// Op returns "rekey".
func (Rekey) Op() string { return "rekey" }

// Op returns "settle".
func (Settle) Op() string { return "settle" }
