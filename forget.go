package dibs

// ForgetRequest asks to erase a person, which is an entity in a scope, or one name.
//
// Forgetting a person deletes the entity and erases every name that it has, or was the last to
// have: value, entity, principal, correlation id and meta, from rows and history. A hold for the
// entity ends, without its token. A name that another entity has by now stays; only the person
// is removed from its history. Forget reads the whole feed to find everything that the person
// ever had.
//
// It leaves a tombstone: a row with the reservation id and without a value. The tombstone keeps
// the name in quarantine as its policy says, for every entity. It is purged together with its
// event [EventForgotten] when the quarantine and HoldHistory are over. Epochs never go back.
//
// Forget can be interrupted at any time; run it again to continue. See docs/privacy.md for what
// engines keep on disk.
type ForgetRequest struct {
	Scope  string // the entity's scope; empty for namespaces without one
	Entity Entity // the person; for one name its owner, or zero if it has none

	// Namespace and Value are the one name to forget. Empty means all names of Entity.
	Namespace string
	Value     string

	// DryRun only says what would be erased.
	DryRun bool
	// Scrub also removes what is left in the engine's files, which takes time. Only SQLite can;
	// with other engines it is [ErrUnsupported].
	Scrub bool
}

// Forgetting is what Forget erased, or would erase.
type Forgetting struct {
	// Erased are the names as they were, but with State and Until of their tombstones.
	Erased []Name
	// Redacted are names of other entities from whose history the person was removed.
	Redacted []Name
	// Replayed says that there was nothing to erase.
	Replayed bool
	// Unknown says, of a replay, that there is not even a tombstone: it may be misspelt.
	Unknown bool
}
