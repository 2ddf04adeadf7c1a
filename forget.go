package dibs

// ForgetRequest asks to erase a person, which is an entity in a scope; or one name.
//
// Forgetting a person deletes the entity, if it was not deleted, and erases every name that
// is its own or was last: from rows and history, with value, entity, principal, correlation
// id and meta. A name that somebody else has by now stays, and its history loses the person.
// It reads the whole feed, since nothing less tells of all that a person ever had.
//
// What is left is a tombstone: a row that has the reservation id and no value. It keeps the
// name back as the quarantine of its policy says, for everybody, and goes with the event
// [EventForgotten] when HoldHistory is over too. Epochs never go back.
//
// It can be interrupted at any time, and goes on when it is run again. See docs/privacy.md
// for what an engine keeps on disk after it.
type ForgetRequest struct {
	Scope  string // the entity's scope; empty for namespaces without one
	Entity Entity // the person; for a name, whose it must be, or zero for one that nobody has

	// Namespace and Value are the one name to forget. Empty means all that the entity has.
	Namespace string
	Value     string

	// DryRun says what would be erased, and does nothing.
	DryRun bool
	// Scrub sees to it in the end that nothing is left in the engine's files either, which
	// takes its time. SQLite can; others are [ErrUnsupported].
	Scrub bool
}

// Forgetting is what was erased, or would be.
type Forgetting struct {
	// Erased are the names of which nothing is left, as they were; but State and Until say
	// whether they are kept back now.
	Erased []Name
	// Redacted are the names of others whose history has lost the person.
	Redacted []Name
	// Replayed says that there was nothing to erase.
	Replayed bool
}
