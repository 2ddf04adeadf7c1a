//go:build unix

package crashtest_test

import "time"

func empty(w *world) { w.registry() } // creates the store

// flows are all flows. Each of docs/testing.md is here.
var flows = []flow{
	{
		name: "Do, begun again", policies: weddings,
		prepare: empty, act: simpleDo, resume: simpleDo, check: wantWedding, same: true,
	},
	{
		name: "Do, left to the witness", policies: weddings,
		prepare: empty, act: simpleDo, resume: sweepLater, check: wantWeddingOrNothing,
	},
	{
		name: "Do that extends, begun again", policies: weddings, running: true,
		prepare: empty, act: slowDo, resume: slowDo, check: wantWedding,
	},
	{
		name: "Do that extends, left to the witness", policies: weddings, running: true,
		prepare: empty, act: slowDo, resume: sweepLater, check: wantWeddingOrNothing,
	},
	{
		name: "Do that fails", policies: weddings,
		prepare: empty, act: failingDo, resume: failingDo, same: true,
		check: func(w *world) { w.wantAvailable("slug", "alice-bob") },
	},
	{
		name: "checkout, begun again", policies: accounts,
		prepare: empty, act: signUp, resume: signUp, check: wantAccount,
	},
	{
		name: "checkout, left to the witness", policies: accounts,
		prepare: empty, act: signUp, resume: sweepLater, check: wantAccountOrNothing,
	},
	{
		name: "checkout, declined", policies: accounts,
		prepare: empty, act: giveUp, resume: giveUp, check: wantNoAccount,
	},
	{
		name: "WithTx", policies: products,
		prepare: createProducts, act: addProduct, crashed: wantTogether, resume: addProductAgain, check: wantProduct, same: true,
	},
	{
		name: "rename", policies: slugs,
		prepare: claimOld, act: rename, crashed: wantOneName, resume: rename, check: wantRenamed, same: true,
	},
	{
		name: "rename to a held name", policies: slugs,
		prepare: claimOld, act: renameHeld, crashed: wantOneName, resume: renameHeld, check: wantRenamed, same: true,
	},
	{
		name: "transfer", policies: slugs,
		prepare: func(w *world) { w.apply(claim("many", "shop", ann)) },
		act:     transfer, crashed: wantOneOwner, resume: transfer, same: true,
		check: func(w *world) { w.wantOwned("many", "shop", bob) },
	},
	{
		name: "delete in batches", policies: slugs,
		prepare: claimMany, act: deleteAll, crashed: wantGone, resume: deleteAll, check: wantDeleted, same: true,
	},
	{
		name: "sweeper", policies: sweepable, later: 2 * time.Hour,
		prepare: leaveBehind, act: sweepAll, resume: sweepAll, check: wantSwept, same: true,
	},
	{
		name: "recanonicalize", policies: folding, later: time.Minute, small: true,
		prepare: claimMixed, act: recanonicalize, resume: recanonicalize, check: wantFolded, same: true, mayFind: []string{"rules"},
	},
	{
		name: "forget", policies: slugs, small: true,
		prepare: leaveTraces, act: forget, resume: forget, check: wantForgotten, same: true,
	},
	{
		name: "import", policies: products,
		prepare: empty, act: importNames, resume: importNames, check: wantImported, same: true,
	},
	{
		name: "copy", policies: quotas, stores: []string{"names", "copy"},
		prepare: fill, act: copyNames, resume: copyNames, check: wantCopied, same: true,
	},
}
