package core_test

import (
	"strconv"

	"github.com/calldibs/dibs"
)

// cell is where one command meets one state: x in its namespace, and who asks.
type cell struct {
	ann, bob, guest *fixture // guest is ann without any right
	ns              string
	id              dibs.ID
}

// outcome is what a command said. An answer is that of a question, which changes
// nothing.
type outcome struct {
	replayed bool
	answer   string
	err      error
}

func apply(f *fixture, command dibs.Command) outcome {
	results, err := f.Apply(f.ctx, command)
	return outcome{replayed: err == nil && results[0].Replayed, err: err}
}

func (c cell) extend(f *fixture, token string) outcome {
	return apply(f, dibs.Extend{ID: c.id, Token: token, TTL: dibs.For(longHold)})
}

func (c cell) release(f *fixture, token string) outcome {
	return apply(f, dibs.Release{ID: c.id, Token: token})
}

func (c cell) confirm(f *fixture, token string, entity dibs.Entity, replace bool) outcome {
	return apply(f, dibs.Confirm{ID: c.id, Token: token, Entity: entity, Replace: replace})
}

func (c cell) rename(f *fixture, token string, entity dibs.Entity) outcome {
	r := rename(c.ns, "x", entity)
	r.Token = token
	return apply(f, r)
}

func (c cell) all(f *fixture, token string, entity dibs.Entity) outcome {
	x, z := reserveFor(c.ns, "", entity), reserve(c.ns, "z", "")
	return apply(f, dibs.ReserveAll{Reservations: []dibs.Reserve{x, z}, Token: token})
}

func (c cell) first(f *fixture, token string, entity dibs.Entity) outcome {
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

func (c cell) settle(f *fixture, verdict dibs.Verdict) outcome {
	return apply(f, dibs.Settle{ID: c.id, Verdict: verdict})
}

func (c cell) sweep() outcome {
	report, err := c.ann.Sweep(c.ann.ctx, 1000)
	return outcome{replayed: report.Changed+report.Suspects == 0, err: err}
}

func (c cell) resolve() outcome {
	r, err := c.ann.Resolve(c.ann.ctx, c.ns, "x")
	return outcome{answer: strconv.Itoa(r.Status), err: err}
}

func (c cell) check(entity dibs.Entity) outcome {
	answers, err := c.ann.Check(c.ann.ctx, dibs.CheckRequest{Namespace: c.ns, Values: []string{"x"}, Entity: entity})
	if err != nil {
		return outcome{err: err}
	}
	if answers[0].Available {
		return outcome{answer: "free"}
	}
	return outcome{answer: string(answers[0].Reason)}
}

var nobody dibs.Entity

// matrixCommands are the columns. right and wrong are about the token, none is
// without one, bob is the right token in the hands of another principal; for is a
// hold for user/1, who is the one that has, had or is about to have the name.
var matrixCommands = map[string]func(c cell) outcome{
	"reserve-right":     func(c cell) outcome { return apply(c.ann, reserve(c.ns, "x", token1)) },
	"reserve-right-for": func(c cell) outcome { return apply(c.ann, reserveFor(c.ns, token1, user1)) },
	"reserve-bob":       func(c cell) outcome { return apply(c.bob, reserve(c.ns, "x", token1)) },
	"reserve-wrong":     func(c cell) outcome { return apply(c.ann, reserve(c.ns, "x", token2)) },
	"reserve-wrong-for": func(c cell) outcome { return apply(c.ann, reserveFor(c.ns, token2, user1)) },
	"reserve-none":      func(c cell) outcome { return apply(c.ann, reserve(c.ns, "x", "")) },

	"all-right":     func(c cell) outcome { return c.all(c.ann, token1, nobody) },
	"all-right-for": func(c cell) outcome { return c.all(c.ann, token1, user1) },
	"all-bob":       func(c cell) outcome { return c.all(c.bob, token1, nobody) },
	"all-wrong":     func(c cell) outcome { return c.all(c.ann, token2, nobody) },
	"all-wrong-for": func(c cell) outcome { return c.all(c.ann, token2, user1) },
	"all-none":      func(c cell) outcome { return c.all(c.ann, "", nobody) },

	"first-right":     func(c cell) outcome { return c.first(c.ann, token1, nobody) },
	"first-right-for": func(c cell) outcome { return c.first(c.ann, token1, user1) },
	"first-bob":       func(c cell) outcome { return c.first(c.bob, token1, nobody) },
	"first-wrong":     func(c cell) outcome { return c.first(c.ann, token2, nobody) },
	"first-wrong-for": func(c cell) outcome { return c.first(c.ann, token2, user1) },
	"first-none":      func(c cell) outcome { return c.first(c.ann, "", nobody) },

	"extend-right":  func(c cell) outcome { return c.extend(c.ann, token1) },
	"extend-bob":    func(c cell) outcome { return c.extend(c.bob, token1) },
	"extend-wrong":  func(c cell) outcome { return c.extend(c.ann, token2) },
	"extend-none":   func(c cell) outcome { return c.extend(c.ann, "") },
	"release-right": func(c cell) outcome { return c.release(c.ann, token1) },
	"release-bob":   func(c cell) outcome { return c.release(c.bob, token1) },
	"release-wrong": func(c cell) outcome { return c.release(c.ann, token2) },
	"release-none":  func(c cell) outcome { return c.release(c.ann, "") },

	"confirm-own":   func(c cell) outcome { return c.confirm(c.ann, token1, user1, false) },
	"confirm-fresh": func(c cell) outcome { return c.confirm(c.ann, token1, user3, false) },
	"confirm-named": func(c cell) outcome { return c.confirm(c.ann, token1, user2, false) },
	"confirm-bob":   func(c cell) outcome { return c.confirm(c.bob, token1, user1, false) },
	"confirm-wrong": func(c cell) outcome { return c.confirm(c.ann, token2, user1, false) },
	"confirm-none":  func(c cell) outcome { return c.confirm(c.ann, "", user1, false) },
	"replace-own":   func(c cell) outcome { return c.confirm(c.ann, token1, user1, true) },
	"replace-named": func(c cell) outcome { return c.confirm(c.ann, token1, user2, true) },
	"replace-bob":   func(c cell) outcome { return c.confirm(c.bob, token1, user2, true) },
	"replace-wrong": func(c cell) outcome { return c.confirm(c.ann, token2, user2, true) },
	"replace-none":  func(c cell) outcome { return c.confirm(c.ann, "", user2, true) },

	"claim-own":        func(c cell) outcome { return apply(c.ann, claim(c.ns, "x", user1)) },
	"claim-fresh":      func(c cell) outcome { return apply(c.ann, claim(c.ns, "x", user3)) },
	"claim-named":      func(c cell) outcome { return apply(c.ann, claim(c.ns, "x", user2)) },
	"rename-own":       func(c cell) outcome { return c.rename(c.ann, "", user1) },
	"rename-own-right": func(c cell) outcome { return c.rename(c.ann, token1, user1) },
	"rename-none":      func(c cell) outcome { return c.rename(c.ann, "", user2) },
	"rename-right":     func(c cell) outcome { return c.rename(c.ann, token1, user2) },
	"rename-bob":       func(c cell) outcome { return c.rename(c.bob, token1, user2) },
	"rename-wrong":     func(c cell) outcome { return c.rename(c.ann, token2, user2) },

	"archive": func(c cell) outcome { return apply(c.ann, dibs.Archive{Entity: user1}) },
	"restore": func(c cell) outcome { return apply(c.ann, dibs.Restore{Entity: user1}) },
	"delete":  func(c cell) outcome { return apply(c.ann, dibs.Delete{Entity: user1}) },

	"decommission-own":   func(c cell) outcome { return apply(c.ann, decommission(c.ns, "x", user1)) },
	"decommission-other": func(c cell) outcome { return apply(c.ann, decommission(c.ns, "x", user2)) },
	"transfer-fresh":     func(c cell) outcome { return c.transfer(user1, user3) },
	"transfer-named":     func(c cell) outcome { return c.transfer(user1, user2) },
	"transfer-back":      func(c cell) outcome { return c.transfer(user2, user1) },
	"swap":               func(c cell) outcome { return c.swap(user1, "y", user2) },
	"swap-done":          func(c cell) outcome { return c.swap(user2, "y", user1) },
	"swap-fresh":         func(c cell) outcome { return c.swap(user1, "none", user3) },

	"exists-own":   func(c cell) outcome { return c.settle(c.ann, dibs.Exists(user1)) },
	"exists-fresh": func(c cell) outcome { return c.settle(c.ann, dibs.Exists(user3)) },
	"exists-named": func(c cell) outcome { return c.settle(c.ann, dibs.Exists(user2)) },
	"absent":       func(c cell) outcome { return c.settle(c.ann, dibs.Absent) },
	"absent-guest": func(c cell) outcome { return c.settle(c.guest, dibs.Absent) },
	"sweep":        func(c cell) outcome { return c.sweep() },
	"resolve":      func(c cell) outcome { return c.resolve() },
	"check":        func(c cell) outcome { return c.check(nobody) },
	"check-own":    func(c cell) outcome { return c.check(user1) },
}
