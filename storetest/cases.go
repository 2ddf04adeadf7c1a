package storetest

// cases is every case of the suite.
var cases = []testCase{
	// What Load sees.
	{"load-snapshot", "records changed together are seen together", loadSnapshot},
	{"load-fresh", "what was committed is seen at once", loadFresh},
	{"load-fresh", "also by concurrent readers", loadFreshTogether},
	{"load-kind", "one ID in several kinds", loadKind},
	{"load-kind", "kinds never seen before", loadUnknownKind},
	{"load-absent", "absent and repeated refs", loadAbsent},
	{"load-absent", "many refs", loadMany},
	{"load-now", "the engine's clock", loadNow},

	// Records are stored as they were committed.
	{"load-exact", "every field of a name", exactNames},
	{"load-exact", "every field of an entity", exactEntities},
	{"load-exact", "every field of a document, with any data", exactDocuments},
	{"load-exact", "values byte for byte", exactValues},
	{"load-exact", "fields can be emptied again", exactEmptied},

	// When a group is committed.
	{"commit-reads", "every revision is compared", commitReads},
	{"commit-read-only", "also of records that are only read", commitReadOnly},
	{"commit-read-only", "two groups that each read what the other writes", commitSkew},
	{"commit-window", "exact to the millisecond", commitWindow},
	{"commit-window", "the clock at commit decides", commitWindowMoves},
	{"commit-stale", "a stale group changes nothing", commitStale},
	{"commit-stale,commit-outcomes", "groups of one call", commitStaleNeighbours},
	{"commit-stale-first", "a second active name", commitStaleSecondName},
	{"commit-revision", "revisions are kept as they are", commitRevision},

	// Records that another transaction has locked.
	{"commit-busy", "a record locked by another transaction", commitBusy},

	// Answers that depend on time alone.
	{"await-commits,await-deadline", "a commit in progress past its window", awaitCommit},
	{"await-commits", "no commit in progress", awaitNothing},
	{"await-clock,await-deadline", "a clock that was set back", awaitClock},

	// A group's changes take effect together.
	{"commit-atomic", "everything is visible when Commit returns", commitAtomic},
	{"commit-atomic", "no reader sees a part of it", commitAtomicWatched},
	{"commit-delete", "nothing is left", commitDelete},
	{"commit-delete,events-filter", "a name that came with several events", commitDeleteStory},
	{"commit-delete", "other events keep their cursors", commitDeleteCursors},
	{"commit-yields", "rename, in both orders", commitRename},
	{"commit-yields", "swap and rotate, in every order", commitSwap},

	// What must be erased, and what stays in its place.
	{"commit-renew", "nothing is left of the former record", commitRenew},
	{"commit-renew", "an active name, and its entity", commitRenewOwned},
	{"commit-renew,commit-reads", "only what was read", commitRenewStale},
	{"commit-redact", "in place", commitRedact},
	{"commit-redact", "of an event that is gone", commitRedactGone},

	// Commits that read the same revision.
	{"commit-race", "one of many creates a name", raceCreate},
	{"commit-race", "one of many changes several records", raceUpdate},

	// What the sweeper gets.
	{"due-order", "earliest first, across kinds", dueOrder},
	{"due-exact", "exact to the millisecond", dueExact},
	{"due-none", "a record without a date is never due", dueNone},

	// The names of an entity.
	{"owned", "in the order of keys, up to a limit", ownedOrder},
	{"owned", "only of this entity", ownedExact},
	{"owned-given-up", "only while the entity owns them", ownedGivenUp},

	// Listings.
	{"list-order", "bytes decide", listOrder},
	{"list-order", "namespace first", listNamespaces},
	{"list-filter", "each field alone and all together", listFilter},
	{"list-filter", "ranges compare bytes", listRanges},
	{"list-due", "held names by their dates", listDue},
	{"list-paging", "pages of every size", listPaging},
	{"list-paging", "while records are created and deleted", listPagingChanges},

	// The number of names.
	{"count", "every change of a state", countChanges},

	// What a reader of the feed gets.
	{"events-exact", "every field", eventsExact},
	{"events-exact", "values byte for byte", eventsExactValues},
	{"events-filter", "each field alone and all together", eventsFilter},
	{"events-cursor", "made-up cursors are refused", eventsCursor},

	// Reading the history of a name, and the cost of a page.
	{"events-history", "from the end, while it grows", eventsHistory},
	{"events-history,events-order", "many events of one group", eventsHistoryOfGroup},
	{"events-cost", "a page of a long history, and of a long feed", eventsCost},

	// The order of the feed, and following it.
	{"events-order", "by revision, and in the order of the group", eventsOrder},
	{"events-gapless", "pages of every size", eventsPages},
	{"events-gapless,events-order", "readers among writers", eventsGapless},
	{"events-latest", "between two commits", eventsLatest},
	{"events-latest", "among writers", eventsLatestAmongWriters},
	{"events-seek", "before, at, between and after dates", eventsSeek},

	// Snapshots of the whole store. They are optional: engines without them do not run these.
	{"snapshot-records,snapshot-events", "everything, in pages", ofSources(snapshotShows)},
	{"snapshot-moment,snapshot-writers", "no later commit", ofSources(snapshotMoment)},
	{"snapshot-moment,snapshot-events,snapshot-writers", "among writers", ofSources(snapshotAmongWriters)},
	{"snapshot-closed", "a store that closes", ofSources(snapshotClosed)},

	// Concurrent calls, and calls that cannot be answered.
	{"concurrent", "all methods at once", concurrent},
	{"unavailable", "an unreachable engine", unavailable},
	{"closed", "all methods after Close", closed},
	{"cancelled", "a context that has ended", cancelled},
	{"close-twice", "also concurrently", closeTwice},

	// What is left when a store is opened again. A harness without Reopen does not run them.
	{"commit-durable", "acknowledged commits are kept", commitDurable},
	{"reopen", "everything is unchanged", reopenKeeps},
	{"reopen", "new commits continue from there", reopenContinues},
}
