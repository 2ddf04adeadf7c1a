package rules_test

import (
	"context"
	"fmt"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// The matrix is about one name, x. Beside it user/2 has the name y, and user/3 has
// none. Everything is done by ann, unless a column says bob.
const (
	plain    = "plain"   // the default policy
	kept     = "kept"    // given-up names are quarantined for an hour
	watched  = "watched" // has a witness, which never knows
	brief    = "brief"   // aliases redirect for an hour
	anHour   = time.Hour // of quarantine and retention
	aHold    = dibs.DefaultTTL
	longHold = 2 * aHold // what Extend asks for
)

func matrixPolicies() map[string]dibs.Policy {
	return map[string]dibs.Policy{
		plain: {},
		kept:  {Quarantine: anHour},
		brief: {AliasRetention: anHour},
		watched: {Witness: func(context.Context, dibs.SuspectHold) (dibs.Verdict, error) {
			return dibs.Unknown, nil
		}},
	}
}

// matrixState is a state of x, and how it gets there.
type matrixState struct {
	name      string
	namespace string
	make      func(f *coretest.Fixture, namespace string)
}

func hold(f *coretest.Fixture, ns string) { f.Must(coretest.Reserve(ns, "x", coretest.Token1)) }
func holdForOne(f *coretest.Fixture, ns string) {
	f.Must(coretest.ReserveFor(ns, coretest.Token1, coretest.User1))
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

// toSpent lets the hold run out, and another one follow.
func toSpent(f *coretest.Fixture, ns string) {
	hold(f, ns)
	f.Clock.Advance(aHold)
	f.Must(coretest.Reserve(ns, "x", coretest.Token3))
}

var matrixStates = []matrixState{
	{"absent", plain, func(*coretest.Fixture, string) {}},
	{"released", plain, func(f *coretest.Fixture, ns string) {
		hold(f, ns)
		f.Must(dibs.Release{ID: dibs.NameID(ns, "x"), Token: coretest.Token1})
	}},
	{"expired", plain, func(f *coretest.Fixture, ns string) {
		hold(f, ns)
		f.Clock.Advance(aHold)
		f.SweepAll()
	}},
	{"held", plain, hold},
	{"held-for", plain, holdForOne},
	{"lapsed", plain, func(f *coretest.Fixture, ns string) {
		hold(f, ns)
		f.Clock.Advance(aHold)
	}},
	{"suspect", watched, func(f *coretest.Fixture, ns string) {
		hold(f, ns)
		f.Clock.Advance(aHold)
		f.SweepAll()
	}},
	{"suspect-unswept", watched, func(f *coretest.Fixture, ns string) {
		hold(f, ns)
		f.Clock.Advance(aHold)
	}},
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
