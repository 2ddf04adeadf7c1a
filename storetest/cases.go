package storetest

// cases is every case of the suite.
var cases = []testCase{
	// What Load sees.
	{[]string{"load-snapshot"}, "records changed together are seen together", loadSnapshot},
	{[]string{"load-fresh"}, "what was committed is seen at once", loadFresh},
	{[]string{"load-fresh"}, "also by concurrent readers", loadFreshTogether},
	{[]string{"load-kind"}, "one ID in several kinds", loadKind},
	{[]string{"load-kind"}, "kinds never seen before", loadUnknownKind},
	{[]string{"load-absent"}, "absent and repeated refs", loadAbsent},
	{[]string{"load-absent"}, "many refs", loadMany},
	{[]string{"load-now"}, "the engine's clock", loadNow},

	// Records are stored as they were committed.
	{[]string{"load-exact"}, "every field of a name", exactNames},
	{[]string{"load-exact"}, "every field of an entity", exactEntities},
	{[]string{"load-exact"}, "every field of a document, with any data", exactDocuments},
	{[]string{"load-exact"}, "values byte for byte", exactValues},
	{[]string{"load-exact"}, "fields can be emptied again", exactEmptied},

	// When a group is committed.
	{[]string{"commit-reads"}, "every revision is compared", commitReads},
	{[]string{"commit-read-only"}, "also of records that are only read", commitReadOnly},
	{[]string{"commit-read-only"}, "two groups that each read what the other writes", commitSkew},
	{[]string{"commit-window"}, "exact to the millisecond", commitWindow},
	{[]string{"commit-window"}, "the clock at commit decides", commitWindowMoves},
	{[]string{"commit-stale"}, "a stale group changes nothing", commitStale},
	{[]string{"commit-stale", "commit-outcomes"}, "groups of one call", commitStaleNeighbours},
	{[]string{"commit-stale-first"}, "a second active name", commitStaleSecondName},
	{[]string{"commit-revision"}, "revisions are kept as they are", commitRevision},

	// Records that another transaction has locked.
	{[]string{"commit-busy"}, "a record locked by another transaction", commitBusy},

	// Answers that depend on time alone.
	{[]string{"await-commits", "await-deadline"}, "a commit in progress past its window", awaitCommit},
	{[]string{"await-commits"}, "no commit in progress", awaitNothing},
	{[]string{"await-clock", "await-deadline"}, "a clock that was set back", awaitClock},

	// A group's changes take effect together.
	{[]string{"commit-atomic"}, "everything is visible when Commit returns", commitAtomic},
	{[]string{"commit-atomic"}, "no reader sees a part of it", commitAtomicWatched},
	{[]string{"commit-delete"}, "nothing is left", commitDelete},
	{[]string{"commit-delete", "events-filter"}, "a name that came with several events", commitDeleteStory},
	{[]string{"commit-delete"}, "other events keep their cursors", commitDeleteCursors},
	{[]string{"commit-yields"}, "rename, in both orders", commitRename},
	{[]string{"commit-yields"}, "swap and rotate, in every order", commitSwap},

	// What must be erased, and what stays in its place.
	{[]string{"commit-renew"}, "nothing is left of the former record", commitRenew},
	{[]string{"commit-renew"}, "an active name, and its entity", commitRenewOwned},
	{[]string{"commit-renew", "commit-reads"}, "only what was read", commitRenewStale},
	{[]string{"commit-redact"}, "in place", commitRedact},
	{[]string{"commit-redact"}, "of an event that is gone", commitRedactGone},

	// Commits that read the same revision.
	{[]string{"commit-race"}, "one of many creates a name", raceCreate},
	{[]string{"commit-race"}, "one of many changes several records", raceUpdate},

	// What the sweeper gets.
	{[]string{"due-order"}, "earliest first, across kinds", dueOrder},
	{[]string{"due-exact"}, "exact to the millisecond", dueExact},
	{[]string{"due-none"}, "a record without a date is never due", dueNone},

	// The names of an entity.
	{[]string{"owned"}, "in the order of keys, up to a limit", ownedOrder},
	{[]string{"owned"}, "only of this entity", ownedExact},
	{[]string{"owned-given-up"}, "only while the entity owns them", ownedGivenUp},

	// Listings.
	{[]string{"list-order"}, "bytes decide", listOrder},
	{[]string{"list-order"}, "namespace first", listNamespaces},
	{[]string{"list-filter"}, "each field alone and all together", listFilter},
	{[]string{"list-filter"}, "ranges compare bytes", listRanges},
	{[]string{"list-paging"}, "pages of every size", listPaging},
	{[]string{"list-paging"}, "while records are created and deleted", listPagingChanges},

	// What a reader of the feed gets.
	{[]string{"events-exact"}, "every field", eventsExact},
	{[]string{"events-exact"}, "values byte for byte", eventsExactValues},
	{[]string{"events-filter"}, "each field alone and all together", eventsFilter},
	{[]string{"events-cursor"}, "made-up cursors are refused", eventsCursor},

	// Reading the history of a name, and the cost of a page.
	{[]string{"events-history"}, "from the end, while it grows", eventsHistory},
	{[]string{"events-history", "events-order"}, "many events of one group", eventsHistoryOfGroup},
	{[]string{"events-cost"}, "a page of a long history, and of a long feed", eventsCost},

	// The order of the feed, and following it.
	{[]string{"events-order"}, "by revision, and in the order of the group", eventsOrder},
	{[]string{"events-gapless"}, "pages of every size", eventsPages},
	{[]string{"events-gapless", "events-order"}, "readers among writers", eventsGapless},
	{[]string{"events-latest"}, "between two commits", eventsLatest},
	{[]string{"events-latest"}, "among writers", eventsLatestAmongWriters},

	// Concurrent calls, and calls that cannot be answered.
	{[]string{"concurrent"}, "all methods at once", concurrent},
	{[]string{"unavailable"}, "an unreachable engine", unavailable},
	{[]string{"closed"}, "all methods after Close", closed},
	{[]string{"cancelled"}, "a context that has ended", cancelled},
	{[]string{"close-twice"}, "also concurrently", closeTwice},

	// What is left when a store is opened again. A harness without Reopen does not run them.
	{[]string{"commit-durable"}, "acknowledged commits are kept", commitDurable},
	{[]string{"reopen"}, "everything is unchanged", reopenKeeps},
	{[]string{"reopen"}, "new commits continue from there", reopenGoesOn},
}
