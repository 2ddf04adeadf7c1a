package rules_test

import (
	"maps"
	"strconv"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// cell is what a command runs on: x in its namespace, and the principals.
type cell struct {
	ann, bob, guest *coretest.Fixture // guest is ann without rights
	ns              string
	id              dibs.ID
}

// outcome is the result of a command, or the answer of a read.
type outcome struct {
	replayed bool
	answer   string
	err      error
}

func apply(f *coretest.Fixture, command dibs.Command) outcome {
	results, err := f.Apply(f.Ctx, command)
	return outcome{replayed: err == nil && results[0].Replayed, err: err}
}

func (c cell) extend(f *coretest.Fixture, token string) outcome {
	return apply(f, dibs.Extend{ID: c.id, Token: token, TTL: dibs.For(longHold)})
}

func (c cell) release(f *coretest.Fixture, token string) outcome {
	return apply(f, dibs.Release{ID: c.id, Token: token})
}

func (c cell) confirm(f *coretest.Fixture, token string, entity dibs.Entity, replace bool) outcome {
	return apply(f, dibs.Confirm{ID: c.id, Token: token, Entity: entity, Replace: replace})
}

func (c cell) rename(f *coretest.Fixture, token string, entity dibs.Entity) outcome {
	r := coretest.Rename(c.ns, "x", entity)
	r.Token = token
	return apply(f, r)
}

func (c cell) all(f *coretest.Fixture, token string, entity dibs.Entity) outcome {
	x, z := reserveFor(c.ns, "", entity), coretest.Reserve(c.ns, "z", "")
	return apply(f, dibs.ReserveAll{Reservations: []dibs.Reserve{x, z}, Token: token})
}

func (c cell) first(f *coretest.Fixture, token string, entity dibs.Entity) outcome {
	return apply(f, dibs.ReserveFirst{Namespace: c.ns, Values: []string{"x"}, Token: token, Entity: entity})
}

func (c cell) transfer(from, to dibs.Entity) outcome {
	return apply(c.ann, dibs.Transfer{Namespace: c.ns, Value: "x", From: from, To: to})
}

func (c cell) swap(a dibs.Entity, value string, b dibs.Entity) outcome {
	return apply(c.ann, dibs.Swap{
		Namespace: c.ns,
		A:         dibs.Named{Value: "x", Entity: a}, B: dibs.Named{Value: value, Entity: b},
	})
}

func (c cell) settle(f *coretest.Fixture, verdict dibs.Verdict) outcome {
	return apply(f, dibs.Settle{ID: c.id, Verdict: verdict})
}

func (c cell) sweep() outcome {
	report, err := c.ann.Sweep(c.ann.Ctx, 1000)
	return outcome{replayed: report.Changed+report.Suspects == 0, err: err}
}

func (c cell) resolve() outcome {
	r, err := c.ann.Resolve(c.ann.Ctx, c.ns, "x")
	return outcome{answer: strconv.Itoa(r.Status), err: err}
}

func (c cell) check(entity dibs.Entity) outcome {
	answers, err := c.ann.Check(c.ann.Ctx, dibs.CheckRequest{Namespace: c.ns, Values: []string{"x"}, Entity: entity})
	if err != nil {
		return outcome{err: err}
	}
	if answers[0].Available {
		return outcome{answer: "free"}
	}
	return outcome{answer: string(answers[0].Reason)}
}

var noEntity dibs.Entity

// reserveFor reserves x for an entity.
func reserveFor(namespace, token string, entity dibs.Entity) dibs.Reserve {
	r := coretest.Reserve(namespace, "x", token)
	r.Entity = entity
	return r
}

// reserving has the ways to reserve x, by the end of the column's name.
var reserving = map[string]struct {
	bob    bool
	token  string
	entity dibs.Entity
}{
	"right":     {token: coretest.Token1},
	"right-for": {token: coretest.Token1, entity: coretest.User1},
	"bob":       {token: coretest.Token1, bob: true},
	"wrong":     {token: coretest.Token2},
	"wrong-for": {token: coretest.Token2, entity: coretest.User1},
	"none":      {},
}

// matrixColumns returns the commands by the names of their columns.
func matrixColumns() map[string]func(c cell) outcome {
	columns := maps.Clone(matrixCommands)
	for name, how := range reserving {
		by := func(c cell) *coretest.Fixture {
			if how.bob {
				return c.bob
			}
			return c.ann
		}
		columns["reserve-"+name] = func(c cell) outcome { return apply(by(c), reserveFor(c.ns, how.token, how.entity)) }
		columns["all-"+name] = func(c cell) outcome { return c.all(by(c), how.token, how.entity) }
		columns["first-"+name] = func(c cell) outcome { return c.first(by(c), how.token, how.entity) }
	}
	return columns
}

// matrixCommands are the columns that do not reserve. In their names right and wrong are about the token,
// none means no token, bob the right token sent by another principal, and for a hold for user/1,
// the entity that has, had or will have the name.
var matrixCommands = map[string]func(c cell) outcome{
	"extend-right":  func(c cell) outcome { return c.extend(c.ann, coretest.Token1) },
	"extend-bob":    func(c cell) outcome { return c.extend(c.bob, coretest.Token1) },
	"extend-wrong":  func(c cell) outcome { return c.extend(c.ann, coretest.Token2) },
	"extend-none":   func(c cell) outcome { return c.extend(c.ann, "") },
	"release-right": func(c cell) outcome { return c.release(c.ann, coretest.Token1) },
	"release-bob":   func(c cell) outcome { return c.release(c.bob, coretest.Token1) },
	"release-wrong": func(c cell) outcome { return c.release(c.ann, coretest.Token2) },
	"release-none":  func(c cell) outcome { return c.release(c.ann, "") },

	"confirm-own":   func(c cell) outcome { return c.confirm(c.ann, coretest.Token1, coretest.User1, false) },
	"confirm-fresh": func(c cell) outcome { return c.confirm(c.ann, coretest.Token1, coretest.User3, false) },
	"confirm-named": func(c cell) outcome { return c.confirm(c.ann, coretest.Token1, coretest.User2, false) },
	"confirm-bob":   func(c cell) outcome { return c.confirm(c.bob, coretest.Token1, coretest.User1, false) },
	"confirm-wrong": func(c cell) outcome { return c.confirm(c.ann, coretest.Token2, coretest.User1, false) },
	"confirm-none":  func(c cell) outcome { return c.confirm(c.ann, "", coretest.User1, false) },
	"replace-own":   func(c cell) outcome { return c.confirm(c.ann, coretest.Token1, coretest.User1, true) },
	"replace-named": func(c cell) outcome { return c.confirm(c.ann, coretest.Token1, coretest.User2, true) },
	"replace-bob":   func(c cell) outcome { return c.confirm(c.bob, coretest.Token1, coretest.User2, true) },
	"replace-wrong": func(c cell) outcome { return c.confirm(c.ann, coretest.Token2, coretest.User2, true) },
	"replace-none":  func(c cell) outcome { return c.confirm(c.ann, "", coretest.User2, true) },

	"claim-own":        func(c cell) outcome { return apply(c.ann, coretest.Claim(c.ns, "x", coretest.User1)) },
	"claim-fresh":      func(c cell) outcome { return apply(c.ann, coretest.Claim(c.ns, "x", coretest.User3)) },
	"claim-named":      func(c cell) outcome { return apply(c.ann, coretest.Claim(c.ns, "x", coretest.User2)) },
	"rename-own":       func(c cell) outcome { return c.rename(c.ann, "", coretest.User1) },
	"rename-own-right": func(c cell) outcome { return c.rename(c.ann, coretest.Token1, coretest.User1) },
	"rename-none":      func(c cell) outcome { return c.rename(c.ann, "", coretest.User2) },
	"rename-right":     func(c cell) outcome { return c.rename(c.ann, coretest.Token1, coretest.User2) },
	"rename-bob":       func(c cell) outcome { return c.rename(c.bob, coretest.Token1, coretest.User2) },
	"rename-wrong":     func(c cell) outcome { return c.rename(c.ann, coretest.Token2, coretest.User2) },

	"archive": func(c cell) outcome { return apply(c.ann, dibs.Archive{Entity: coretest.User1}) },
	"restore": func(c cell) outcome { return apply(c.ann, dibs.Restore{Entity: coretest.User1}) },
	"delete":  func(c cell) outcome { return apply(c.ann, dibs.Delete{Entity: coretest.User1}) },

	"decommission-own":   func(c cell) outcome { return apply(c.ann, coretest.Decommission(c.ns, "x", coretest.User1)) },
	"decommission-other": func(c cell) outcome { return apply(c.ann, coretest.Decommission(c.ns, "x", coretest.User2)) },
	"transfer-fresh":     func(c cell) outcome { return c.transfer(coretest.User1, coretest.User3) },
	"transfer-named":     func(c cell) outcome { return c.transfer(coretest.User1, coretest.User2) },
	"transfer-back":      func(c cell) outcome { return c.transfer(coretest.User2, coretest.User1) },
	"swap":               func(c cell) outcome { return c.swap(coretest.User1, "y", coretest.User2) },
	"swap-done":          func(c cell) outcome { return c.swap(coretest.User2, "y", coretest.User1) },
	"swap-fresh":         func(c cell) outcome { return c.swap(coretest.User1, "none", coretest.User3) },

	"exists-own":   func(c cell) outcome { return c.settle(c.ann, dibs.Exists(coretest.User1)) },
	"exists-fresh": func(c cell) outcome { return c.settle(c.ann, dibs.Exists(coretest.User3)) },
	"exists-named": func(c cell) outcome { return c.settle(c.ann, dibs.Exists(coretest.User2)) },
	"absent":       func(c cell) outcome { return c.settle(c.ann, dibs.Absent) },
	"absent-guest": func(c cell) outcome { return c.settle(c.guest, dibs.Absent) },
	"sweep":        func(c cell) outcome { return c.sweep() },
	"resolve":      func(c cell) outcome { return c.resolve() },
	"check":        func(c cell) outcome { return c.check(noEntity) },
	"check-own":    func(c cell) outcome { return c.check(coretest.User1) },
}
