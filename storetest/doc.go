// Package storetest is the conformance suite of [dibs.Store]: an engine that
// passes it can carry a registry. It is exported for engines outside this module.
//
// An engine's test hands [Run] a [Harness] that opens empty stores:
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, storetest.Harness{
//			Open: func(tb testing.TB, clock *storetest.Clock) dibs.Store {
//				return memstore.New(memstore.Config{Now: clock.Now})
//			},
//		})
//	}
//
// Each "must" in the comments of [dibs.Store] has an id in brackets, and each
// case names the ids it proves: a failure message begins with them, and
//
//	go test -run 'TestConformance/commit-window'
//
// runs the cases of one id. [Musts] lists the ids. Run the suite with the race
// detector at least once: some cases call every method from many goroutines.
//
// # What an engine may rely on
//
// The suite commits only what the registry guarantees:
//
//   - Every Write of a group is among its Reads. Every record that a group
//     expects to be absent is among its Writes.
//   - Groups of one Commit never share a record that one of them writes.
//   - Revisions of a record only increase, but may skip some. Revisions, epochs
//     and dates fit into 63 bits.
//   - A name's ID is [dibs.NameID] of its key. Its scope is the part of its
//     namespace before the last dot. An entity's ID is [dibs.EntityID].
//   - Labels of documents are unique within their kind. Entities are not listed.
//   - A held name has the status reserved, a suspect one suspect, an active one or
//     an alias confirmed, a quarantined or free one released or expired.
//   - Active names and aliases have an owner, held names a token and an end,
//     quarantined names an end. An entity has one active name for each namespace,
//     or for each line of one where the name's terms say that it may have many.
//   - Durations are whole milliseconds. All text, also a bound of a listing, is UTF-8.
//   - An event of a name comes with a write of that name. Its revision is not
//     above the written one, and its Epoch is that of its After. An event about an
//     entity has none of a name's fields. If the After of an event has an entity,
//     so has the event.
package storetest
