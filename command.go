package dibs

import (
	"context"
	"time"
)

// Command is a change to the registry: one of the command types of this package, such as
// [Reserve] or [Rename]. [Registry.Apply] takes a list of them; each changing verb of the
// Registry is an Apply of one.
type Command interface {
	// Op returns the command's name, as on the wire, such as "reserve" or "reserveAll".
	Op() string
}

// Result is what a command did, or would do in a dry run.
type Result struct {
	Names    []Name // of the command, as they are after it
	Token    string // of a Reserve, ReserveAll or ReserveFirst; else empty
	Replayed bool   // nothing changed, because an earlier command had the same result
	Version  uint64 // of the entity, after a command on an entity's names
	Pending  bool   // a deleted entity has names left, which sweeps give up
	// Freed and Quarantined are the keys that a Delete or Decommission gave up.
	Freed, Quarantined []string
	// Events are those that a dry run would commit, without cursors. Otherwise nil.
	Events []Event
}

// hold returns name i of a reserving command, with its token.
func (r *Result) hold(i int) Hold {
	return Hold{Name: r.Names[i], Token: r.Token, Replayed: r.Replayed}
}

// Reserve holds a name for a limited time: free becomes held.
type Reserve struct {
	Namespace string // required
	Value     string // required; 1 to 1,024 bytes of UTF-8 without control characters

	// TTL is how long the hold lasts. Zero means the policy's default.
	TTL TTL
	// Token is the proof of the hold, chosen by the caller: 16 to 128 characters of visible
	// ASCII, random and secret. Reserve with the same token returns the same hold, so the
	// caller can retry when an answer was lost. Empty means that the registry makes a random
	// one: then the caller cannot retry.
	Token string
	// Entity is the intended owner, for the witness; Confirm then accepts no other. Only with
	// its last owner here can a quarantined name be reserved. Zero means none.
	Entity Entity
	// CorrelationID is kept with the hold and its events: up to 255 bytes. Empty means none.
	CorrelationID string
	// Meta is kept with the hold: up to 16 entries of 255 bytes each. Nil means none.
	Meta map[string]string
	// Field names the value in errors, like a field of a form. Empty means the namespace's type.
	Field string
	// OverrideReserved asks for a reserved word. It needs the right [OverrideReserved].
	OverrideReserved bool
}

// Op returns "reserve".
func (Reserve) Op() string { return "reserve" }

// Reserve holds a name for a limited time.
func (r *Registry) Reserve(ctx context.Context, command Reserve) (Hold, error) {
	return r.applyHold(ctx, command)
}

// ReserveAll reserves several names, all of them or none, with one token.
type ReserveAll struct {
	// Reservations are 1 to 32 different names. Their own Tokens must be empty.
	Reservations []Reserve
	// Token holds all of them; see [Reserve]. Empty means that the registry makes one.
	Token string
}

// Op returns "reserveAll".
func (ReserveAll) Op() string { return "reserveAll" }

// ReserveAll holds several names, all of them or none, with one token.
func (r *Registry) ReserveAll(ctx context.Context, command ReserveAll) ([]Hold, error) {
	result, err := r.applyOne(ctx, command)
	if err != nil {
		return nil, err
	}
	holds := make([]Hold, len(result.Names))
	for i := range holds {
		holds[i] = result.hold(i)
	}
	return holds, nil
}

// ReserveFirst reserves the candidate that the token already holds, else the first one that is
// available, in one decision.
type ReserveFirst struct {
	Namespace string   // required
	Values    []string // 1 to 32 candidates, the best first

	// The other fields are those of [Reserve].

	TTL              TTL
	Token            string
	Entity           Entity
	CorrelationID    string
	Meta             map[string]string
	Field            string
	OverrideReserved bool
}

// Op returns "reserveFirst".
func (ReserveFirst) Op() string { return "reserveFirst" }

// ReserveFirst holds the first candidate that is available.
func (r *Registry) ReserveFirst(ctx context.Context, command ReserveFirst) (Hold, error) {
	return r.applyHold(ctx, command)
}

// Extend moves the end of a hold to TTL from now, but not past the policy's MaxHold since the
// hold began. It never shortens a hold.
type Extend struct {
	ID    ID     // of the hold
	Token string // of the hold
	TTL   TTL    // zero means the policy's default
}

// Op returns "extend".
func (Extend) Op() string { return "extend" }

// Extend moves the end of a hold.
func (r *Registry) Extend(ctx context.Context, command Extend) (Name, error) {
	return r.applyName(ctx, command)
}

// Confirm makes a held name the active name of an entity.
type Confirm struct {
	ID     ID     // of the hold
	Token  string // of the hold
	Entity Entity // the owner

	// Replace makes the entity's present name an alias of the new one. Without it, an entity
	// that has a name here is refused.
	Replace bool
	// Replaces is the name to replace, and implies Replace. Empty means the entity's one name;
	// an entity that may have many names needs it to replace one.
	Replaces string
}

// Op returns "confirm".
func (Confirm) Op() string { return "confirm" }

// Confirm makes a held name the active name of an entity.
func (r *Registry) Confirm(ctx context.Context, command Confirm) (Name, error) {
	return r.applyName(ctx, command)
}

// ConfirmAll makes the names that [Registry.ReserveAll] held the active names of an entity, all of
// them or none, and returns them in the same order. Repeating it is safe, as for [Confirm].
func (r *Registry) ConfirmAll(ctx context.Context, holds []Hold, entity Entity) ([]Name, error) {
	return r.applyAll(ctx, holds, func(h Hold) Command { return Confirm{ID: h.ID, Token: h.Token, Entity: entity} })
}

// Release ends a hold before its time: the name is free at once, or goes back into quarantine.
type Release struct {
	ID    ID     // of the hold
	Token string // of the hold
}

// Op returns "release".
func (Release) Op() string { return "release" }

// Release ends a hold before its time.
func (r *Registry) Release(ctx context.Context, command Release) (Name, error) {
	return r.applyName(ctx, command)
}

// ReleaseAll ends the holds that [Registry.ReserveAll] returned, all of them or none, and returns
// the names. If a hold is over already, the error says so, and the others end by themselves.
func (r *Registry) ReleaseAll(ctx context.Context, holds []Hold) ([]Name, error) {
	return r.applyAll(ctx, holds, func(h Hold) Command { return Release{ID: h.ID, Token: h.Token} })
}

// Claim makes a free name the active name of an entity: reserve and confirm in one step.
type Claim struct {
	Namespace string // required
	Value     string // required
	Entity    Entity // the owner

	CorrelationID    string            // as in [Reserve]
	Meta             map[string]string // as in [Reserve]
	Field            string            // as in [Reserve]
	OverrideReserved bool              // as in [Reserve]
}

// Op returns "claim".
func (Claim) Op() string { return "claim" }

// Claim makes a free name the active name of an entity at once.
func (r *Registry) Claim(ctx context.Context, command Claim) (Name, error) {
	return r.applyName(ctx, command)
}

// Import enters a name that an entity already has in another system: free becomes active, or an
// alias. A repetition changes nothing, so an import that was stopped can begin again. It needs
// the right to import, since it can date the name back.
type Import struct {
	Namespace string // required
	Value     string // required
	Entity    Entity // the owner

	// AliasOf is the entity's active name to which this one redirects. Empty means that the
	// name itself is active.
	AliasOf string
	// Since is when the entity got the name; the history says so. It cannot be before the name's
	// last owner gave it up. Zero means now.
	Since time.Time

	CorrelationID    string            // as in [Reserve]
	Meta             map[string]string // as in [Reserve]
	Field            string            // as in [Reserve]
	OverrideReserved bool              // as in [Reserve]
}

// Op returns "import".
func (Import) Op() string { return "import" }

// Import enters a name that an entity already has in another system.
func (r *Registry) Import(ctx context.Context, command Import) (Name, error) {
	return r.applyName(ctx, command)
}

// ImportAll enters many names, each by itself: a refusal of one does not stop the others. Each
// is decided after those before it, so of two that collide the first gets the name. An error
// means that some may have been entered; it is safe to send all of them again.
func (r *Registry) ImportAll(ctx context.Context, request ImportRequest) ([]Imported, error) {
	request.Principal = r.principal
	return r.backend.ImportAll(ctx, request)
}

// Imported is the outcome of one [Import] of many.
type Imported struct {
	Name     Name   // as it is afterwards; zero if the import was refused
	Replayed bool   // the entity had the name already, and nothing changed
	Err      *Error // the refusal, or nil
}

// Rename gives an entity another active name; the present one becomes an alias. The new name
// may be free, held with Token, one of the entity's own aliases, or in quarantine after the
// entity gave it up. If the entity has no name here, Rename claims the new one.
type Rename struct {
	Namespace string // required
	Entity    Entity // the owner
	Value     string // the new name

	// From is the name to replace, for an entity that may have many. Otherwise it may be empty;
	// if it is set, it must be the active name.
	From string
	// Token is that of a hold on the new name. Empty means that there is no hold.
	Token string
	// IfVersion refuses the command unless it is the entity's version. Zero means any.
	IfVersion uint64

	CorrelationID    string // as in [Reserve]; empty keeps that of a hold or an alias
	Field            string // as in [Reserve]
	OverrideReserved bool   // as in [Reserve]
}

// Op returns "rename".
func (Rename) Op() string { return "rename" }

// Rename gives an entity another name; the present one becomes an alias.
func (r *Registry) Rename(ctx context.Context, command Rename) (Name, error) {
	return r.applyName(ctx, command)
}

// Archive is the soft delete: all names of the entity stay taken, and none resolves.
type Archive struct {
	Scope  string // the entity's scope; empty for namespaces without one
	Entity Entity // required
}

// Op returns "archive".
func (Archive) Op() string { return "archive" }

// Archive is the soft delete of an entity: its names stay taken and stop resolving.
func (r *Registry) Archive(ctx context.Context, command Archive) (Result, error) {
	return r.applyOne(ctx, command)
}

// Restore undoes an Archive.
type Restore struct {
	Scope  string // as in [Archive]
	Entity Entity // required
}

// Op returns "restore".
func (Restore) Op() string { return "restore" }

// Restore undoes an Archive.
func (r *Registry) Restore(ctx context.Context, command Restore) (Result, error) {
	return r.applyOne(ctx, command)
}

// Delete is the hard delete: every name and alias of the entity, in every namespace of its
// scope, becomes quarantined or free as its policy says. If the entity has more than 32 names,
// sweeps give up the rest in batches; none of them resolves from the start.
type Delete struct {
	Scope  string // as in [Archive]
	Entity Entity // required
}

// Op returns "delete".
func (Delete) Op() string { return "delete" }

// Delete is the hard delete of an entity: its names become quarantined or free.
func (r *Registry) Delete(ctx context.Context, command Delete) (Result, error) {
	return r.applyOne(ctx, command)
}

// Decommission gives up one name of an entity, active or alias.
type Decommission struct {
	Namespace string // required
	Value     string // required
	Entity    Entity // the owner
}

// Op returns "decommission".
func (Decommission) Op() string { return "decommission" }

// Decommission gives up one name of an entity.
func (r *Registry) Decommission(ctx context.Context, command Decommission) (Name, error) {
	return r.applyName(ctx, command)
}

// Transfer gives a name of one entity to another; the name is never free in between. It becomes
// the active name of To, which must have none here.
type Transfer struct {
	Namespace string // required
	Value     string // required
	From, To  Entity // the present and the new owner
}

// Op returns "transfer".
func (Transfer) Op() string { return "transfer" }

// Transfer gives a name of one entity to another.
func (r *Registry) Transfer(ctx context.Context, command Transfer) (Name, error) {
	return r.applyName(ctx, command)
}

// Swap exchanges the active names of two entities in one step.
type Swap struct {
	Namespace string // required
	A, B      Named  // the owners and their names before the swap
}

// Op returns "swap".
func (Swap) Op() string { return "swap" }

// Swap exchanges the active names of two entities.
func (r *Registry) Swap(ctx context.Context, command Swap) (Result, error) {
	return r.applyOne(ctx, command)
}

// Named is an entity and its active name.
type Named struct {
	Value  string
	Entity Entity
}

// Rekey adds a name of a blind namespace to the indexes of the policy's present keys. The
// registry does not know the value, so the caller supplies it, for instance from the user
// table. Readers see no change.
type Rekey struct {
	Namespace string // required
	Value     string // required
}

// Op returns "rekey".
func (Rekey) Op() string { return "rekey" }

// Rekey adds a name of a blind namespace to the indexes of the policy's present keys.
func (r *Registry) Rekey(ctx context.Context, command Rekey) (Name, error) {
	return r.applyName(ctx, command)
}

// Settle ends a suspect by an operator's verdict. It needs the right [Operate].
type Settle struct {
	ID      ID      // of the suspect
	Verdict Verdict // [Exists] or [Absent]
}

// Op returns "settle".
func (Settle) Op() string { return "settle" }

// Settle ends a suspect by an operator's verdict. It needs the right [Operate].
func (r *Registry) Settle(ctx context.Context, command Settle) (Name, error) {
	return r.applyName(ctx, command)
}
