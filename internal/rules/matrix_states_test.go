package rules_test

import (
	"fmt"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// The matrix is about one name, x. In addition, user/2 has the name y, and user/3 has no name. The
// principal is ann unless the column says otherwise.
const (
	plain    = "plain"   // the default policy
	kept     = "kept"    // quarantines given-up names for an hour
	watched  = "watched" // has a witness that never knows
	brief    = "brief"   // aliases redirect for an hour
	anHour   = time.Hour // of quarantine and retention
	aHold    = dibs.DefaultTTL
	longHold = 2 * aHold // the ttl of Extend
)

func matrixPolicies() map[string]dibs.Policy {
	return map[string]dibs.Policy{
		plain:   {},
		kept:    {Quarantine: anHour},
		brief:   {AliasRetention: anHour},
		watched: {Witness: coretest.AlwaysUnknown},
	}
}

// matrixState is a state of x, and the commands that lead to it.
type matrixState struct {
	name      string
	namespace string
	make      func(f *coretest.Fixture, namespace string)
}

func hold(f *coretest.Fixture, ns string) { f.Must(coretest.Reserve(ns, "x", coretest.Token1)) }
func holdForOne(f *coretest.Fixture, ns string) {
	f.Must(reserveFor(ns, coretest.Token1, coretest.User1))
}

func toLapsed(f *coretest.Fixture, ns string) {
	hold(f, ns)
	f.Clock.Advance(aHold)
}

func toSwept(f *coretest.Fixture, ns string) {
	toLapsed(f, ns)
	f.SweepAll()
}

func toActive(f *coretest.Fixture, ns string) {
	hold(f, ns)
	f.Must(dibs.Confirm{ID: dibs.NameID(ns, "x"), Token: coretest.Token1, Entity: coretest.User1})
}

func toAlias(f *coretest.Fixture, ns string) {
	toActive(f, ns)
	f.Must(coretest.Rename(ns, "x2", coretest.User1))
}

func toGivenUp(f *coretest.Fixture, ns string) {
	toActive(f, ns)
	f.Must(coretest.Decommission(ns, "x", coretest.User1))
}

func toHeldOut(f *coretest.Fixture, ns string) {
	f.Must(coretest.Claim(ns, "x", coretest.User1))
	f.Must(coretest.Decommission(ns, "x", coretest.User1))
	holdForOne(f, ns)
}

// toSpent lets a hold expire, and reserves x with another token.
func toSpent(f *coretest.Fixture, ns string) {
	toLapsed(f, ns)
	f.Must(coretest.Reserve(ns, "x", coretest.Token3))
}

var matrixStates = []matrixState{
	{"absent", plain, func(*coretest.Fixture, string) {}},
	{"released", plain, func(f *coretest.Fixture, ns string) {
		hold(f, ns)
		f.Must(dibs.Release{ID: dibs.NameID(ns, "x"), Token: coretest.Token1})
	}},
	{"expired", plain, toSwept},
	{"held", plain, hold},
	{"held-for", plain, holdForOne},
	{"lapsed", plain, toLapsed},
	{"suspect", watched, toSwept},
	{"suspect-unswept", watched, toLapsed},
	{"active", plain, toActive},
	{"claimed", plain, func(f *coretest.Fixture, ns string) { f.Must(coretest.Claim(ns, "x", coretest.User1)) }},
	{"archived", plain, func(f *coretest.Fixture, ns string) {
		toActive(f, ns)
		f.Must(dibs.Archive{Entity: coretest.User1})
	}},
	{"deleting", plain, func(f *coretest.Fixture, ns string) {
		toActive(f, ns)
		for i := range 32 {
			f.Must(coretest.Claim(fmt.Sprintf("other%d", i), "x", coretest.User1))
		}
		f.Must(dibs.Delete{Entity: coretest.User1})
	}},
	{"alias", plain, toAlias},
	{"alias-over", brief, func(f *coretest.Fixture, ns string) {
		toAlias(f, ns)
		f.Clock.Advance(anHour)
	}},
	{"alias-archived", plain, func(f *coretest.Fixture, ns string) {
		toAlias(f, ns)
		f.Must(dibs.Archive{Entity: coretest.User1})
	}},
	{"given-up", plain, toGivenUp},
	{"quarantined", kept, toGivenUp},
	{"quarantine-over", kept, func(f *coretest.Fixture, ns string) {
		toGivenUp(f, ns)
		f.Clock.Advance(anHour)
	}},
	{"held-out", kept, toHeldOut},
	{"back-in", kept, func(f *coretest.Fixture, ns string) {
		toHeldOut(f, ns)
		f.Must(dibs.Release{ID: dibs.NameID(ns, "x"), Token: coretest.Token1})
	}},
	{"spent", plain, func(f *coretest.Fixture, ns string) {
		toSpent(f, ns)
		f.Must(dibs.Release{ID: dibs.NameID(ns, "x"), Token: coretest.Token3})
	}},
	{"spent-held", plain, toSpent},
}
