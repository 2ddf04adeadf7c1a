// Package core is the embedded backend: it runs the rules of internal/rules on an engine.
// docs/architecture.md explains why its parts are as they are; this is the map of them.
//
// A [router] is the backend of a Registry. It sends a call to the [core] of the engine that has
// its scope, or to all and merges the answers. Nearly always there is one engine.
//
// A command: [core.Apply] prepares the commands of a caller as one [rules.Request] and wraps it in
// a [call], which waits in the queue of the [writer]. The writer hands batches of calls to the
// [committer], which decides them on one [rules.Batch]: from the [guesser] without a Load if
// possible, otherwise from [decideAll]. It commits the groups of the batch, and decides calls of
// stale groups again. Calls of busy groups become [blockedCalls].
//
// A read is a [rules.Job] too, but commits nothing. [ask] answers it by the [reader], whose Loads
// questions share, and [askAlone] by a Load of its own.
//
// An answer that commits nothing may rest on time alone: a hold is over, and no commit has
// written that yet. [pastEnds] makes the caller wait for commits that could contradict it.
//
// In the background, [core.Sweep] ends what is over and asks witnesses, and [conflictCounts] are
// stored every few seconds. Readers of the [feed] wake up after each commit.
//
// On a transaction of the caller, a core has no writer and no reader: it decides and commits each
// call at once.
package core
