package core_test

import (
	"context"
	"fmt"
	"time"

	"github.com/calldibs/dibs"
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
	make      func(f *fixture, namespace string)
}

func hold(f *fixture, ns string)       { f.must(reserve(ns, "x", token1)) }
func holdForOne(f *fixture, ns string) { f.must(reserveFor(ns, token1, user1)) }

func toActive(f *fixture, ns string) {
	hold(f, ns)
	f.must(dibs.Confirm{ID: dibs.NameID(ns, "x"), Token: token1, Entity: user1})
}

func toAlias(f *fixture, ns string) {
	toActive(f, ns)
	f.must(rename(ns, "x2", user1))
}

func toGivenUp(f *fixture, ns string) {
	toActive(f, ns)
	f.must(decommission(ns, "x", user1))
}

func toHeldOut(f *fixture, ns string) {
	f.must(claim(ns, "x", user1))
	f.must(decommission(ns, "x", user1))
	holdForOne(f, ns)
}

// toSpent lets the hold run out, and another one follow.
func toSpent(f *fixture, ns string) {
	hold(f, ns)
	f.clock.advance(aHold)
	f.must(reserve(ns, "x", token3))
}

var matrixStates = []matrixState{
	{"absent", plain, func(*fixture, string) {}},
	{"released", plain, func(f *fixture, ns string) {
		hold(f, ns)
		f.must(dibs.Release{ID: dibs.NameID(ns, "x"), Token: token1})
	}},
	{"expired", plain, func(f *fixture, ns string) {
		hold(f, ns)
		f.clock.advance(aHold)
		f.sweep()
	}},
	{"held", plain, hold},
	{"held-for", plain, holdForOne},
	{"lapsed", plain, func(f *fixture, ns string) {
		hold(f, ns)
		f.clock.advance(aHold)
	}},
	{"suspect", watched, func(f *fixture, ns string) {
		hold(f, ns)
		f.clock.advance(aHold)
		f.sweep()
	}},
	{"suspect-unswept", watched, func(f *fixture, ns string) {
		hold(f, ns)
		f.clock.advance(aHold)
	}},
	{"active", plain, toActive},
	{"claimed", plain, func(f *fixture, ns string) { f.must(claim(ns, "x", user1)) }},
	{"archived", plain, func(f *fixture, ns string) {
		toActive(f, ns)
		f.must(dibs.Archive{Entity: user1})
	}},
	{"deleting", plain, func(f *fixture, ns string) {
		toActive(f, ns)
		for i := range 32 {
			f.must(claim(fmt.Sprintf("other%d", i), "x", user1))
		}
		f.must(dibs.Delete{Entity: user1})
	}},
	{"alias", plain, toAlias},
	{"alias-over", brief, func(f *fixture, ns string) {
		toAlias(f, ns)
		f.clock.advance(anHour)
	}},
	{"alias-archived", plain, func(f *fixture, ns string) {
		toAlias(f, ns)
		f.must(dibs.Archive{Entity: user1})
	}},
	{"given-up", plain, toGivenUp},
	{"quarantined", kept, toGivenUp},
	{"quarantine-over", kept, func(f *fixture, ns string) {
		toGivenUp(f, ns)
		f.clock.advance(anHour)
	}},
	{"held-out", kept, toHeldOut},
	{"back-in", kept, func(f *fixture, ns string) {
		toHeldOut(f, ns)
		f.must(dibs.Release{ID: dibs.NameID(ns, "x"), Token: token1})
	}},
	{"spent", plain, func(f *fixture, ns string) {
		toSpent(f, ns)
		f.must(dibs.Release{ID: dibs.NameID(ns, "x"), Token: token3})
	}},
	{"spent-held", plain, toSpent},
}
