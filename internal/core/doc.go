// Package core is the embedded backend: it runs the rules of internal/rules on an engine.
//
// # A command
//
// [core.Apply] prepares the commands of a caller as one [rules.Request] and wraps it in a
// [call]. The call waits in the queue of the [writer]. A full queue makes the caller wait,
// which is the back-pressure. While one batch is committed, the next calls gather: this is a
// group commit. The writer hands each batch to the [committer].
//
// The [committer] decides all calls of a batch on one [rules.Batch]. The [guesser] provides
// it without a Load where it can: it expects new names to be absent, and remembers recent
// records. Otherwise [decideAll] loads the records. The rules sort the decided calls into
// groups: calls that share a record which one of them writes belong together. Commit of the
// engine checks every record that a group read: optimistic concurrency. Calls of a committed
// group are answered. Calls of a stale group are decided again, this time on a Load. A group
// that is too large for the engine is halved.
//
// # Blocked calls
//
// A transaction of another process may hold a record that a group needs. The engine then
// calls the group busy. Its calls become [blockedCalls], which are retried with backoff and
// apart from other batches, until the deadline of their caller.
//
// # Reads
//
// A read is a [rules.Job] too, but commits nothing. [ask] answers it by the [reader]: the
// questions that arrive during one Load share the next one. Large questions, and reads that
// consist of several steps, load on their own with [askAlone].
//
// # Past ends
//
// An answer that commits nothing may rest on time alone: a hold is over, and no commit has
// written that yet. A commit that began before the end could still become visible and
// contradict the answer. So [pastEnds] makes the caller wait for such commits, by Await of the
// engine, and the request is decided again.
//
// # Background work
//
// The sweeper ([core.Sweep]) finds records whose date has come, sends a job for each through
// the writer, and asks the witnesses of suspect holds. Conflict counters gather in memory
// ([conflictCounts]) and are stored every few seconds. Readers of the feed ([feed]) that wait
// for events wake up after each commit of this process, and poll for commits of others.
//
// # Routes
//
// A store with several parts gets a [core] for each, behind a [router]. The router sends a
// command to the part that has its scope, and merges answers about all parts. It finds
// reservations that a command names by ID by asking all parts, and keeps what it learns in a
// [partCache]. A store with one part has no router.
//
// # Transactions of the caller
//
// [core.InTransaction] returns a core on a store that is bound to a transaction of the
// caller. It has no writer and no reader: each call is decided and committed at once.
package core
