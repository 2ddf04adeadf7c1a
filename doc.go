// Package dibs hands out names that must belong to one owner: slugs, usernames,
// emails, tenant codes.
//
// Nearly every product checks whether a name is free and inserts it later; between
// the two somebody else takes it. Here a name is reserved in one atomic step, for a
// limited time, and then confirmed for the entity that owns it, or released. After
// that it lives on: it is renamed, with redirects from the old name, archived,
// deleted, kept in quarantine, transferred, swapped.
//
// # A first reservation
//
// Open an engine, and a [Registry] on it:
//
//	store, err := sqlitestore.Open(ctx, "names.db", sqlitestore.Config{})
//	…
//	reg, err := embedded.Open(store, dibs.Config{})
//	…
//	hold, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "alice-bob"})
//	if errors.Is(err, dibs.ErrNameTaken) {
//		// somebody has it; the *dibs.Error says why, until when, and what is free
//	}
//	…
//	_, err = reg.Confirm(ctx, dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: wedding})
//
// [Registry.Do] does all of it around a function of yours: it reserves, runs the
// function, extends the hold while it runs, and then confirms, releases, or leaves
// the hold for the witness, whichever is right.
//
// # Names, namespaces, entities
//
// A name is unique within its namespace: "slug", or "acme.slug" for a tenant's own
// space. What a namespace allows is its [Policy], set in the [Config]: how long holds
// last, how values become canonical, which words are reserved, whether look-alikes are
// refused, whether values are stored at all, whether names that were given up wait in
// quarantine. The zero Policy is a good one. Package profile has what decides which
// names are the same, and docs/names.md helps to choose.
//
// An [Entity] is what owns names: a type and an id. It has one active name per
// namespace, unless the policy says otherwise, and any number of aliases: its former
// names, which [Registry.Resolve] follows to the active one.
//
// # Retrying
//
// A command whose result already stands succeeds and is marked as replayed; so whoever
// got [ErrOutcomeUnknown], or no answer at all, asks once more with the same token. To be
// able to, choose the token before you reserve: [NewToken] makes one. What goes without a
// token is safe to run again while nobody else changes the same names; where somebody
// may, look first, or say [Rename.IfVersion].
//
// # After a crash
//
// A process can die between saving an entity and confirming its name. Neither freeing
// the name nor keeping it for ever is right then. A [Witness] in the policy finds out:
// with one, a hold whose time ran out still blocks the name until the witness has said
// whether the entity exists.
//
// Where the entity lives in the same database as the names there is nothing to find
// out: pgstore.WithTx and sqlitestore.WithTx bind a Registry to a transaction of your
// own, and both commit or roll back together.
//
// # Reading and following
//
// [Registry.Get], [Registry.Check], [Registry.Resolve], [Registry.Entity],
// [Registry.List], [Registry.History] and [Registry.WhoHeld] read; all of them answer
// from the engine, never from the past. [Registry.Watch] follows the feed of events:
// each committed change is one event, readers resume from a cursor and miss none.
//
// # Errors
//
// A refusal is an [*Error]. Its code has a sentinel for [errors.Is], such as
// [ErrNameTaken] or [ErrLost]; [errors.As] takes out the details. Two codes are about
// the engine: after [ErrUnavailable] nothing happened, after [ErrOutcomeUnknown] it may
// have.
//
// # Engines
//
// An engine is a [Store]. Package memstore keeps names in memory, for tests; package
// sqlitestore in a file; package pgstore in a PostgreSQL database; package etcdstore in an
// etcd cluster. Engines know no rule: they load records, and commit what was decided if
// nothing that it rests on has changed. Package storetest is the suite that each of them
// passes, and yours can too.
package dibs
