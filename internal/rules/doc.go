// Package rules keeps every promise about names, without I/O: it turns records, commands and the
// engine's time into records, events and results.
//
// The way of a command, and the files in which to read on:
//
//  1. [Policies] (policy.go) are the checked configuration. Their methods prepare requests and jobs.
//  2. [Policies.Apply] (request.go) makes all checks that need no record: a preparer leads to the
//     file of each command, such as reserve.go. It returns a decision, a function of a view. The
//     decisions of one Apply are a [Request]; questions and housekeeping are a [Job].
//  3. [Batch] (batch.go) is the state that many requests are decided on, one after the other. What
//     it lacks is listed by [Batch.Wanted], loaded, and all of them are decided again.
//  4. A view (view.go) shows a decision the batch state under its own changes. A decision reads a
//     name as a nameState (name.go), after every end that has come by itself, changes it, and saves
//     it with an event.
//  5. [Batch.Groups] (group.go) puts requests that depend on each other into one group, with every
//     record that Commit has to check.
//
// The package is pure: no context, lock, file, network or clock. The time is that of the batch, and
// a decision takes the same batch state to the same outcome however often it runs; only preparing
// may draw a token. So a decision may run again at any time, and internal/core may guess the state
// and let Commit check the guess.
//
// Three invariants hold for every decision:
//
//   - Every read counts. The group lists what was read, written or not, and Commit checks it. The
//     absence of a record is checked only if the group writes that record; a decision that does not
//     write it asks with view.absent, which a guess cannot answer.
//   - Windows. What depends on time narrows the view's window. The engine checks the window with its
//     own clock once all locks are held.
//   - Past ends. An end that only time has brought, and no commit has written, is noted as a
//     [PastEnd]: an answer that commits nothing has to wait for commits that could prevent it.
//
// A [Request] or [Batch] is used by one goroutine at a time.
package rules
