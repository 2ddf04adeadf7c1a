// Package dibs hands out names that have one owner: slugs, usernames, emails, tenant codes.
//
// A program that checks whether a name is free and inserts it later has a gap in which another
// request can take the name. Dibs reserves a name in one atomic step, for a limited time; then
// the caller confirms it for the entity that owns it, or releases it. Afterwards the name can
// be renamed with a redirect from the old one, archived, deleted, kept in quarantine,
// transferred and swapped.
//
// # Opening a registry
//
// All verbs are methods of [Registry]. Package embedded opens one in this process, on an
// engine: [github.com/calldibs/dibs/embedded.Open]. Package dibsclient opens one on a server:
// [github.com/calldibs/dibs/dibsclient.Dial]. The rest of the program is the same for both,
// apart from the few methods that say that they need an embedded Registry.
//
// # Reserving and confirming
//
// [Registry.Reserve] holds a name for a limited time. Its [Hold] carries a secret token, the
// proof of the hold. [Registry.Confirm] makes the name the active name of an [Entity],
// [Registry.Release] frees it, [Registry.Extend] moves the end of the hold.
// [Registry.ReserveAll] holds several names or none, [Registry.ReserveFirst] the first of
// several candidates that is available; [Registry.ConfirmAll] and [Registry.ReleaseAll] end what
// ReserveAll began. [Registry.Claim] takes a name at once, without a hold.
// The example of this package shows a name from the reservation to the confirmation.
//
// [Registry.Do] wraps a function that saves the entity: it reserves the name, extends the hold
// while the function runs, and then confirms the name, releases it, or leaves it for the
// witness. [Registry.DoAll] does the same for several names.
//
// # Names, namespaces, entities
//
// A name is unique within its namespace: "slug", or "acme.slug" for the slugs of one tenant. An
// [Entity] owns names: a type and an id. It has one active name per namespace, unless the
// policy sets [Policy.ManyPerEntity], and any number of aliases: its former names, which
// [Registry.Resolve] follows to the active one.
//
// [Registry.Rename] gives an entity another name, [Registry.Transfer] gives a name to another
// entity, and [Registry.Swap] exchanges two names. [Registry.Archive] is the soft delete,
// undone by [Registry.Restore]. [Registry.Delete] gives up all names of an entity,
// [Registry.Decommission] one of them; the policy says how long such a name stays in
// quarantine. [Registry.Forget] erases a person.
//
// [Registry.Apply] commits several commands, all or none. [Registry.DryRun] says what commands
// would do.
//
// # Reading and following
//
// [Registry.Check] says whether values are available, [Registry.Resolve] where a name leads.
// [Registry.Get], [Registry.Entity] and [Registry.List] return names, [Registry.History] and
// [Registry.WhoHeld] their past. All of them read from the engine.
//
// [Registry.Watch] follows the feed: each committed change is one [Event]. A reader resumes
// from a [Cursor] and misses no event. [Registry.Events] returns the feed page by page.
//
// # Policies
//
// The [Policy] of a namespace says how long holds last, how values become canonical, which
// words are reserved, whether look-alikes are refused, whether values are stored, and how long
// a name stays in quarantine. Policies are part of the [Config]. Package profile has the
// functions that decide which names are the same; docs/names.md helps to choose.
//
// # Engines
//
// An engine is a [Store]: package memstore keeps names in memory, for tests, sqlitestore in a
// file, pgstore in a PostgreSQL database, etcdstore in an etcd cluster, and routestore in
// several of them. An engine has no rule about names: it loads records, and commits a decision
// if nothing that the decision read has changed. Package storetest is the test suite for
// engines, including your own.
//
// # Retrying
//
// A command whose result already stands succeeds and is marked as replayed. After
// [ErrOutcomeUnknown], or no answer at all, send the command again with the same token. For
// that, choose the token before you reserve: [NewToken] makes one. A command without a token is
// safe to repeat as long as no other caller changes the same names; otherwise read first, or
// set [Rename.IfVersion].
//
// # After a crash
//
// A process can fail between saving an entity and confirming its name. Then it is wrong to free
// the name, and wrong to keep it for ever. A [Witness] in the policy finds out: a hold whose
// time is over blocks the name until the witness has said whether the entity exists.
//
// If the entity is in the same database as the names, no witness is needed: pgstore.WithTx and
// sqlitestore.WithTx bind a Registry to a transaction of the caller, which commits or rolls
// back both.
//
// # Errors
//
// A refusal is an [*Error]. [errors.Is] compares it with the sentinel of its code, such as
// [ErrNameTaken] or [ErrLost]; [errors.As] gives access to the details. Two codes are about the
// engine: after [ErrUnavailable] nothing happened, after [ErrOutcomeUnknown] the command may
// have been committed.
//
// # Concurrent use
//
// A [Registry] is safe for concurrent use, except for one that is bound to a transaction.
// Commands, results and records are plain values: do not change one that another goroutine
// uses. Implementations of [Profile], [Skeleton], [Words], [Witness], [Grants], [Backend] and
// [Store] must be safe for concurrent use.
package dibs
