package rules_test

import (
	"maps"
	"strconv"
	"strings"

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

func (c cell) importName(entity dibs.Entity, aliasOf string) outcome {
	return apply(c.ann, dibs.Import{Namespace: c.ns, Value: "x", Entity: entity, AliasOf: aliasOf})
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
	"import-own":       func(c cell) outcome { return c.importName(coretest.User1, "") },
	"import-fresh":     func(c cell) outcome { return c.importName(coretest.User3, "") },
	"import-named":     func(c cell) outcome { return c.importName(coretest.User2, "") },
	"import-alias":     func(c cell) outcome { return c.importName(coretest.User2, "y") },
	"import-astray":    func(c cell) outcome { return c.importName(coretest.User3, "y") },
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

// matrixTables say what each command does in each state of a name. A cell is one of
//
//	ok:state+1        it succeeds, and x is in that state, its epoch higher by one
//	ok:state.status   the same, where the status does not follow from the state
//	replay:state      it succeeds as a replay, and nothing changes
//	CODE, CODE/reason it is refused, and nothing changes
//	anything else     the answer of a read, which changes nothing
var matrixTables = []string{
	reserveColumns("reserve", reserveTable, "TAKEN/held"),
	// x and z, which is free: never a replay, since z is new.
	reserveColumns("all", strings.ReplaceAll(reserveTable, "replay:", "ok:"), "TAKEN/held"),
	// x as the only candidate.
	reserveColumns("first", reserveTable, "EXPIRED"),
	holdTable, confirmTable, replaceTable,
	claimTable, importTable, renameTable, entityTable, exchangeTable,
	settleTable, readTable,
}

// reserveTable is what Reserve, ReserveAll and ReserveFirst have in common. The state spent-held is
// missing, in which they differ.
const reserveTable = `
state            right           right-for     bob                wrong              wrong-for      none
absent           ok:held+1       ok:held+1     ok:held+1          ok:held+1          ok:held+1      ok:held+1
released         RELEASED        RELEASED      ok:held+1          ok:held+1          ok:held+1      ok:held+1
expired          EXPIRED         EXPIRED       ok:held+1          ok:held+1          ok:held+1      ok:held+1
held             replay:held     TOKEN         TAKEN/held         TAKEN/held         TAKEN/held     TAKEN/held
held-for         TOKEN           replay:held   TAKEN/held         TAKEN/held         TAKEN/held     TAKEN/held
lapsed           EXPIRED         EXPIRED       ok:held+1          ok:held+1          ok:held+1      ok:held+1
suspect          replay:suspect  TOKEN         TAKEN/suspect      TAKEN/suspect      TAKEN/suspect  TAKEN/suspect
suspect-unswept  replay:suspect  TOKEN         TAKEN/suspect      TAKEN/suspect      TAKEN/suspect  TAKEN/suspect
active           CONFIRMED       CONFIRMED     TAKEN/in_use       TAKEN/in_use       TAKEN/in_use   TAKEN/in_use
claimed          TAKEN/in_use    TAKEN/in_use  TAKEN/in_use       TAKEN/in_use       TAKEN/in_use   TAKEN/in_use
archived         CONFIRMED       CONFIRMED     TAKEN/in_use       TAKEN/in_use       TAKEN/in_use   TAKEN/in_use
deleting         CONFIRMED       CONFIRMED     TAKEN/in_use       TAKEN/in_use       TAKEN/in_use   TAKEN/in_use
alias            CONFIRMED       CONFIRMED     TAKEN/in_use       TAKEN/in_use       TAKEN/in_use   TAKEN/in_use
alias-over       CONFIRMED       CONFIRMED     ok:held+1          ok:held+1          ok:held+1      ok:held+1
alias-archived   CONFIRMED       CONFIRMED     TAKEN/in_use       TAKEN/in_use       TAKEN/in_use   TAKEN/in_use
given-up         CONFIRMED       CONFIRMED     ok:held+1          ok:held+1          ok:held+1      ok:held+1
quarantined      CONFIRMED       CONFIRMED     TAKEN/quarantined  TAKEN/quarantined  ok:held+1      TAKEN/quarantined
quarantine-over  CONFIRMED       CONFIRMED     ok:held+1          ok:held+1          ok:held+1      ok:held+1
held-out         TOKEN           replay:held   TAKEN/held         TAKEN/held         TAKEN/held     TAKEN/held
back-in          RELEASED        RELEASED      TAKEN/quarantined  TAKEN/quarantined  ok:held+1      TAKEN/quarantined
spent            EXPIRED         EXPIRED       ok:held+1          ok:held+1          ok:held+1      ok:held+1
`

// reserveColumns returns the table of a command: the columns get its name, and the state spent-held
// its outcome for the token of the earlier hold. For other tokens the name is taken.
func reserveColumns(command, table, earlier string) string {
	header, rows, _ := strings.Cut(strings.TrimSpace(table), "\n")
	columns := strings.Fields(header)
	for i := 1; i < len(columns); i++ {
		columns[i] = command + "-" + columns[i]
	}
	const taken = "TAKEN/held"
	spentHeld := []string{"spent-held", earlier, earlier, taken, taken, taken, taken}
	return strings.Join(columns, " ") + "\n" + rows + "\n" + strings.Join(spentHeld, " ")
}

// Extend and Release.
const holdTable = `
state            extend-right  extend-bob  extend-wrong  extend-none  release-right                release-bob  release-wrong  release-none
absent           NOTFOUND      NOTFOUND    NOTFOUND      TOKEN        NOTFOUND                     NOTFOUND     NOTFOUND       TOKEN
released         RELEASED      LOST        LOST          TOKEN        replay:free.released         LOST         LOST           TOKEN
expired          EXPIRED       LOST        LOST          TOKEN        EXPIRED                      LOST         LOST           TOKEN
held             ok:held       LOST        LOST          TOKEN        ok:free.released             LOST         LOST           TOKEN
held-for         ok:held       LOST        LOST          TOKEN        ok:free.released             LOST         LOST           TOKEN
lapsed           EXPIRED       LOST        LOST          TOKEN        EXPIRED                      LOST         LOST           TOKEN
suspect          ok:held       LOST        LOST          TOKEN        ok:free.released             LOST         LOST           TOKEN
suspect-unswept  ok:held       LOST        LOST          TOKEN        ok:free.released             LOST         LOST           TOKEN
active           CONFIRMED     LOST        LOST          TOKEN        CONFIRMED                    LOST         LOST           TOKEN
claimed          LOST          LOST        LOST          TOKEN        LOST                         LOST         LOST           TOKEN
archived         CONFIRMED     LOST        LOST          TOKEN        CONFIRMED                    LOST         LOST           TOKEN
deleting         CONFIRMED     LOST        LOST          TOKEN        CONFIRMED                    LOST         LOST           TOKEN
alias            CONFIRMED     LOST        LOST          TOKEN        CONFIRMED                    LOST         LOST           TOKEN
alias-over       CONFIRMED     LOST        LOST          TOKEN        CONFIRMED                    LOST         LOST           TOKEN
alias-archived   CONFIRMED     LOST        LOST          TOKEN        CONFIRMED                    LOST         LOST           TOKEN
given-up         CONFIRMED     LOST        LOST          TOKEN        CONFIRMED                    LOST         LOST           TOKEN
quarantined      CONFIRMED     LOST        LOST          TOKEN        CONFIRMED                    LOST         LOST           TOKEN
quarantine-over  CONFIRMED     LOST        LOST          TOKEN        CONFIRMED                    LOST         LOST           TOKEN
held-out         ok:held       LOST        LOST          TOKEN        ok:quarantined.released      LOST         LOST           TOKEN
back-in          RELEASED      LOST        LOST          TOKEN        replay:quarantined.released  LOST         LOST           TOKEN
spent            LOST          LOST        LOST          TOKEN        LOST                         LOST         LOST           TOKEN
spent-held       LOST          LOST        LOST          TOKEN        LOST                         LOST         LOST           TOKEN
`

// Confirm for user/1, for user/3, which has no name, and for user/2, which has one.
const confirmTable = `
state            confirm-own    confirm-fresh  confirm-named  confirm-bob  confirm-wrong  confirm-none
absent           NOTFOUND       NOTFOUND       NOTFOUND       NOTFOUND     NOTFOUND       TOKEN
released         RELEASED       RELEASED       RELEASED       LOST         LOST           TOKEN
expired          EXPIRED        EXPIRED        EXPIRED        LOST         LOST           TOKEN
held             ok:active      ok:active      HASNAME        LOST         LOST           TOKEN
held-for         ok:active      NOTOWNER       NOTOWNER       LOST         LOST           TOKEN
lapsed           EXPIRED        EXPIRED        EXPIRED        LOST         LOST           TOKEN
suspect          ok:active      ok:active      HASNAME        LOST         LOST           TOKEN
suspect-unswept  ok:active      ok:active      HASNAME        LOST         LOST           TOKEN
active           replay:active  CONFIRMED      CONFIRMED      LOST         LOST           TOKEN
claimed          LOST           LOST           LOST           LOST         LOST           TOKEN
archived         replay:active  CONFIRMED      CONFIRMED      LOST         LOST           TOKEN
deleting         CONFIRMED      CONFIRMED      CONFIRMED      LOST         LOST           TOKEN
alias            replay:alias   CONFIRMED      CONFIRMED      LOST         LOST           TOKEN
alias-over       RELEASED       RELEASED       RELEASED       LOST         LOST           TOKEN
alias-archived   replay:alias   CONFIRMED      CONFIRMED      LOST         LOST           TOKEN
given-up         RELEASED       RELEASED       RELEASED       LOST         LOST           TOKEN
quarantined      RELEASED       RELEASED       RELEASED       LOST         LOST           TOKEN
quarantine-over  RELEASED       RELEASED       RELEASED       LOST         LOST           TOKEN
held-out         ok:active      NOTOWNER       NOTOWNER       LOST         LOST           TOKEN
back-in          RELEASED       RELEASED       RELEASED       LOST         LOST           TOKEN
spent            LOST           LOST           LOST           LOST         LOST           TOKEN
spent-held       LOST           LOST           LOST           LOST         LOST           TOKEN
`

// Confirm with Replace, for user/1 where the column says own, else for user/2, which has a name.
const replaceTable = `
state            replace-own    replace-named  replace-bob  replace-wrong  replace-none
absent           NOTFOUND       NOTFOUND       NOTFOUND     NOTFOUND       TOKEN
released         RELEASED       RELEASED       LOST         LOST           TOKEN
expired          EXPIRED        EXPIRED        LOST         LOST           TOKEN
held             ok:active      ok:active      LOST         LOST           TOKEN
held-for         ok:active      NOTOWNER       LOST         LOST           TOKEN
lapsed           EXPIRED        EXPIRED        LOST         LOST           TOKEN
suspect          ok:active      ok:active      LOST         LOST           TOKEN
suspect-unswept  ok:active      ok:active      LOST         LOST           TOKEN
active           replay:active  CONFIRMED      LOST         LOST           TOKEN
claimed          LOST           LOST           LOST         LOST           TOKEN
archived         replay:active  CONFIRMED      LOST         LOST           TOKEN
deleting         CONFIRMED      CONFIRMED      LOST         LOST           TOKEN
alias            replay:alias   CONFIRMED      LOST         LOST           TOKEN
alias-over       RELEASED       RELEASED       LOST         LOST           TOKEN
alias-archived   replay:alias   CONFIRMED      LOST         LOST           TOKEN
given-up         RELEASED       RELEASED       LOST         LOST           TOKEN
quarantined      RELEASED       RELEASED       LOST         LOST           TOKEN
quarantine-over  RELEASED       RELEASED       LOST         LOST           TOKEN
held-out         ok:active      NOTOWNER       LOST         LOST           TOKEN
back-in          RELEASED       RELEASED       LOST         LOST           TOKEN
spent            LOST           LOST           LOST         LOST           TOKEN
spent-held       LOST           LOST           LOST         LOST           TOKEN
`

// Settle, by an operator and by a guest.
const settleTable = `
state            exists-own     exists-fresh  exists-named  absent               absent-guest
absent           NOTFOUND       NOTFOUND      NOTFOUND      NOTFOUND             NOTOWNER
released         RELEASED       RELEASED      RELEASED      RELEASED             NOTOWNER
expired          EXPIRED        EXPIRED       EXPIRED       replay:free.expired  NOTOWNER
held             TAKEN/held     TAKEN/held    TAKEN/held    TAKEN/held           NOTOWNER
held-for         TAKEN/held     TAKEN/held    TAKEN/held    TAKEN/held           NOTOWNER
lapsed           EXPIRED        EXPIRED       EXPIRED       replay:free.expired  NOTOWNER
suspect          ok:active      ok:active     HASNAME       ok:free.expired      NOTOWNER
suspect-unswept  ok:active      ok:active     HASNAME       ok:free.expired      NOTOWNER
active           replay:active  CONFIRMED     CONFIRMED     CONFIRMED            NOTOWNER
claimed          replay:active  CONFIRMED     CONFIRMED     CONFIRMED            NOTOWNER
archived         replay:active  CONFIRMED     CONFIRMED     CONFIRMED            NOTOWNER
deleting         CONFIRMED      CONFIRMED     CONFIRMED     CONFIRMED            NOTOWNER
alias            replay:alias   CONFIRMED     CONFIRMED     CONFIRMED            NOTOWNER
alias-over       CONFIRMED      CONFIRMED     CONFIRMED     CONFIRMED            NOTOWNER
alias-archived   replay:alias   CONFIRMED     CONFIRMED     CONFIRMED            NOTOWNER
given-up         CONFIRMED      CONFIRMED     CONFIRMED     CONFIRMED            NOTOWNER
quarantined      CONFIRMED      CONFIRMED     CONFIRMED     CONFIRMED            NOTOWNER
quarantine-over  CONFIRMED      CONFIRMED     CONFIRMED     CONFIRMED            NOTOWNER
held-out         TAKEN/held     TAKEN/held    TAKEN/held    TAKEN/held           NOTOWNER
back-in          RELEASED       RELEASED      RELEASED      RELEASED             NOTOWNER
spent            RELEASED       RELEASED      RELEASED      RELEASED             NOTOWNER
spent-held       TAKEN/held     TAKEN/held    TAKEN/held    TAKEN/held           NOTOWNER
`

// Claim by each user, and Rename by user/1.
const claimTable = `
state            claim-own      claim-fresh        claim-named        rename-own     rename-own-right
absent           ok:active+1    ok:active+1        HASNAME            ok:active+1    ok:active+1
released         ok:active+1    ok:active+1        HASNAME            ok:active+1    ok:active+1
expired          ok:active+1    ok:active+1        HASNAME            ok:active+1    ok:active+1
held             TAKEN/held     TAKEN/held         TAKEN/held         TAKEN/held     ok:active
held-for         TAKEN/held     TAKEN/held         TAKEN/held         TAKEN/held     ok:active
lapsed           ok:active+1    ok:active+1        HASNAME            ok:active+1    ok:active+1
suspect          TAKEN/suspect  TAKEN/suspect      TAKEN/suspect      TAKEN/suspect  ok:active
suspect-unswept  TAKEN/suspect  TAKEN/suspect      TAKEN/suspect      TAKEN/suspect  ok:active
active           replay:active  TAKEN/in_use       TAKEN/in_use       replay:active  replay:active
claimed          replay:active  TAKEN/in_use       TAKEN/in_use       replay:active  replay:active
archived         replay:active  TAKEN/in_use       TAKEN/in_use       replay:active  replay:active
deleting         TAKEN/in_use   TAKEN/in_use       TAKEN/in_use       ARCHIVED       ARCHIVED
alias            TAKEN/in_use   TAKEN/in_use       TAKEN/in_use       ok:active      ok:active
alias-over       HASNAME        ok:active+1        HASNAME            ok:active+1    ok:active+1
alias-archived   TAKEN/in_use   TAKEN/in_use       TAKEN/in_use       ARCHIVED       ARCHIVED
given-up         ok:active+1    ok:active+1        HASNAME            ok:active+1    ok:active+1
quarantined      ok:active+1    TAKEN/quarantined  TAKEN/quarantined  ok:active+1    ok:active+1
quarantine-over  ok:active+1    ok:active+1        HASNAME            ok:active+1    ok:active+1
held-out         TAKEN/held     TAKEN/held         TAKEN/held         TAKEN/held     ok:active
back-in          ok:active+1    TAKEN/quarantined  TAKEN/quarantined  ok:active+1    ok:active+1
spent            ok:active+1    ok:active+1        HASNAME            ok:active+1    ok:active+1
spent-held       TAKEN/held     TAKEN/held         TAKEN/held         TAKEN/held     TAKEN/held
`

// Import for each user, and as an alias of y, which is the name of user/2.
const importTable = `
state            import-own     import-fresh       import-named       import-alias       import-astray
absent           ok:active+1    ok:active+1        HASNAME            ok:alias+1         NOTOWNER
released         ok:active+1    ok:active+1        HASNAME            ok:alias+1         NOTOWNER
expired          ok:active+1    ok:active+1        HASNAME            ok:alias+1         NOTOWNER
held             TAKEN/held     TAKEN/held         TAKEN/held         TAKEN/held         TAKEN/held
held-for         TAKEN/held     TAKEN/held         TAKEN/held         TAKEN/held         TAKEN/held
lapsed           ok:active+1    ok:active+1        HASNAME            ok:alias+1         NOTOWNER
suspect          TAKEN/suspect  TAKEN/suspect      TAKEN/suspect      TAKEN/suspect      TAKEN/suspect
suspect-unswept  TAKEN/suspect  TAKEN/suspect      TAKEN/suspect      TAKEN/suspect      TAKEN/suspect
active           replay:active  TAKEN/in_use       TAKEN/in_use       TAKEN/in_use       TAKEN/in_use
claimed          replay:active  TAKEN/in_use       TAKEN/in_use       TAKEN/in_use       TAKEN/in_use
archived         replay:active  TAKEN/in_use       TAKEN/in_use       TAKEN/in_use       TAKEN/in_use
deleting         TAKEN/in_use   TAKEN/in_use       TAKEN/in_use       TAKEN/in_use       TAKEN/in_use
alias            HASNAME        TAKEN/in_use       TAKEN/in_use       TAKEN/in_use       TAKEN/in_use
alias-over       HASNAME        ok:active+1        HASNAME            ok:alias+1         NOTOWNER
alias-archived   HASNAME        TAKEN/in_use       TAKEN/in_use       TAKEN/in_use       TAKEN/in_use
given-up         ok:active+1    ok:active+1        HASNAME            ok:alias+1         NOTOWNER
quarantined      ok:active+1    TAKEN/quarantined  TAKEN/quarantined  TAKEN/quarantined  TAKEN/quarantined
quarantine-over  ok:active+1    ok:active+1        HASNAME            ok:alias+1         NOTOWNER
held-out         TAKEN/held     TAKEN/held         TAKEN/held         TAKEN/held         TAKEN/held
back-in          ok:active+1    TAKEN/quarantined  TAKEN/quarantined  TAKEN/quarantined  TAKEN/quarantined
spent            ok:active+1    ok:active+1        HASNAME            ok:alias+1         NOTOWNER
spent-held       TAKEN/held     TAKEN/held         TAKEN/held         TAKEN/held         TAKEN/held
`

// Rename to x by user/2, which has another name.
const renameTable = `
state            rename-none        rename-right       rename-bob         rename-wrong
absent           ok:active+1        ok:active+1        ok:active+1        ok:active+1
released         ok:active+1        ok:active+1        ok:active+1        ok:active+1
expired          ok:active+1        ok:active+1        ok:active+1        ok:active+1
held             TAKEN/held         ok:active          TAKEN/held         TAKEN/held
held-for         TAKEN/held         NOTOWNER           TAKEN/held         TAKEN/held
lapsed           ok:active+1        ok:active+1        ok:active+1        ok:active+1
suspect          TAKEN/suspect      ok:active          TAKEN/suspect      TAKEN/suspect
suspect-unswept  TAKEN/suspect      ok:active          TAKEN/suspect      TAKEN/suspect
active           TAKEN/in_use       TAKEN/in_use       TAKEN/in_use       TAKEN/in_use
claimed          TAKEN/in_use       TAKEN/in_use       TAKEN/in_use       TAKEN/in_use
archived         TAKEN/in_use       TAKEN/in_use       TAKEN/in_use       TAKEN/in_use
deleting         TAKEN/in_use       TAKEN/in_use       TAKEN/in_use       TAKEN/in_use
alias            TAKEN/in_use       TAKEN/in_use       TAKEN/in_use       TAKEN/in_use
alias-over       ok:active+1        ok:active+1        ok:active+1        ok:active+1
alias-archived   TAKEN/in_use       TAKEN/in_use       TAKEN/in_use       TAKEN/in_use
given-up         ok:active+1        ok:active+1        ok:active+1        ok:active+1
quarantined      TAKEN/quarantined  TAKEN/quarantined  TAKEN/quarantined  TAKEN/quarantined
quarantine-over  ok:active+1        ok:active+1        ok:active+1        ok:active+1
held-out         TAKEN/held         NOTOWNER           TAKEN/held         TAKEN/held
back-in          TAKEN/quarantined  TAKEN/quarantined  TAKEN/quarantined  TAKEN/quarantined
spent            ok:active+1        ok:active+1        ok:active+1        ok:active+1
spent-held       TAKEN/held         TAKEN/held         TAKEN/held         TAKEN/held
`

// Archive, Restore and Delete of user/1, and Decommission of x.
const entityTable = `
state            archive                  restore                      delete                   decommission-own             decommission-other
absent           NOENTITY                 NOENTITY                     NOENTITY                 NOTFOUND                     NOTFOUND
released         NOENTITY                 NOENTITY                     NOENTITY                 NOTFOUND                     NOTFOUND
expired          NOENTITY                 NOENTITY                     NOENTITY                 NOTFOUND                     NOTFOUND
held             NOENTITY                 NOENTITY                     NOENTITY                 NOTOWNER                     NOTOWNER
held-for         NOENTITY                 NOENTITY                     NOENTITY                 NOTOWNER                     NOTOWNER
lapsed           NOENTITY                 NOENTITY                     NOENTITY                 NOTFOUND                     NOTFOUND
suspect          NOENTITY                 NOENTITY                     NOENTITY                 NOTOWNER                     NOTOWNER
suspect-unswept  NOENTITY                 NOENTITY                     NOENTITY                 NOTOWNER                     NOTOWNER
active           ok:active                replay:active                ok:free.released         ok:free.released             NOTOWNER
claimed          ok:active                replay:active                ok:free.released         ok:free.released             NOTOWNER
archived         replay:active            ok:active                    ok:free.released         ok:free.released             NOTOWNER
deleting         NOENTITY                 NOENTITY                     replay:active            NOENTITY                     NOTOWNER
alias            ok:alias                 replay:alias                 ok:free.released         ok:free.released             NOTOWNER
alias-over       ok:free.released         replay:free.released         ok:free.released         replay:free.released         NOTFOUND
alias-archived   replay:alias             ok:alias                     ok:free.released         ok:free.released             NOTOWNER
given-up         ok:free.released         replay:free.released         ok:free.released         replay:free.released         NOTFOUND
quarantined      ok:quarantined.released  replay:quarantined.released  ok:quarantined.released  replay:quarantined.released  NOTOWNER
quarantine-over  ok:free.released         replay:free.released         ok:free.released         replay:free.released         NOTFOUND
held-out         ok:held                  replay:held                  ok:held                  NOTOWNER                     NOTOWNER
back-in          ok:quarantined.released  replay:quarantined.released  ok:quarantined.released  replay:quarantined.released  NOTOWNER
spent            NOENTITY                 NOENTITY                     NOENTITY                 NOTFOUND                     NOTFOUND
spent-held       NOENTITY                 NOENTITY                     NOENTITY                 NOTOWNER                     NOTOWNER
`

// Transfer from user/1 to user/3 and user/2, and from user/2 to user/1; Swap of user/1's x for user/2's y,
// the same as it stands afterwards, and for a name that user/3 does not have.
const exchangeTable = `
state            transfer-fresh  transfer-named  transfer-back  swap         swap-done      swap-fresh
absent           NOTFOUND        NOTFOUND        NOTFOUND       NOTOWNER     NOTOWNER       NOTOWNER
released         NOTFOUND        NOTFOUND        NOTFOUND       NOTOWNER     NOTOWNER       NOTOWNER
expired          NOTFOUND        NOTFOUND        NOTFOUND       NOTOWNER     NOTOWNER       NOTOWNER
held             NOTOWNER        NOTOWNER        NOTOWNER       NOTOWNER     NOTOWNER       NOTOWNER
held-for         NOTOWNER        NOTOWNER        NOTOWNER       NOTOWNER     NOTOWNER       NOTOWNER
lapsed           NOTFOUND        NOTFOUND        NOTFOUND       NOTOWNER     NOTOWNER       NOTOWNER
suspect          NOTOWNER        NOTOWNER        NOTOWNER       NOTOWNER     NOTOWNER       NOTOWNER
suspect-unswept  NOTOWNER        NOTOWNER        NOTOWNER       NOTOWNER     NOTOWNER       NOTOWNER
active           ok:active+1     HASNAME         replay:active  ok:active+1  replay:active  NOTOWNER
claimed          ok:active+1     HASNAME         replay:active  ok:active+1  replay:active  NOTOWNER
archived         ARCHIVED        ARCHIVED        replay:active  ARCHIVED     replay:active  NOTOWNER
deleting         NOENTITY        NOENTITY        NOTOWNER       NOENTITY     NOTOWNER       NOTOWNER
alias            ok:active+1     HASNAME         replay:alias   NOTOWNER     NOTOWNER       NOTOWNER
alias-over       NOTFOUND        NOTFOUND        NOTFOUND       NOTOWNER     NOTOWNER       NOTOWNER
alias-archived   ARCHIVED        ARCHIVED        replay:alias   NOTOWNER     NOTOWNER       NOTOWNER
given-up         NOTFOUND        NOTFOUND        NOTFOUND       NOTOWNER     NOTOWNER       NOTOWNER
quarantined      NOTOWNER        NOTOWNER        NOTOWNER       NOTOWNER     NOTOWNER       NOTOWNER
quarantine-over  NOTFOUND        NOTFOUND        NOTFOUND       NOTOWNER     NOTOWNER       NOTOWNER
held-out         NOTOWNER        NOTOWNER        NOTOWNER       NOTOWNER     NOTOWNER       NOTOWNER
back-in          NOTOWNER        NOTOWNER        NOTOWNER       NOTOWNER     NOTOWNER       NOTOWNER
spent            NOTFOUND        NOTFOUND        NOTFOUND       NOTOWNER     NOTOWNER       NOTOWNER
spent-held       NOTOWNER        NOTOWNER        NOTOWNER       NOTOWNER     NOTOWNER       NOTOWNER
`

// Sweep, and the reads.
const readTable = `
state            sweep                        resolve  check        check-own
absent           replay:none                  404      free         free
released         replay:free.released         404      free         free
expired          replay:free.expired          404      free         free
held             replay:held                  404      held         held
held-for         replay:held                  404      held         held
lapsed           ok:free.expired              404      free         free
suspect          replay:suspect               404      suspect      suspect
suspect-unswept  ok:suspect                   404      suspect      suspect
active           replay:active                200      in_use       in_use
claimed          replay:active                200      in_use       in_use
archived         replay:active                404      in_use       in_use
deleting         ok:free.released             410      in_use       in_use
alias            replay:alias                 301      in_use       in_use
alias-over       ok:free.released             404      free         free
alias-archived   replay:alias                 404      in_use       in_use
given-up         replay:free.released         404      free         free
quarantined      replay:quarantined.released  410      quarantined  free
quarantine-over  ok:free.released             404      free         free
held-out         replay:held                  404      held         held
back-in          replay:quarantined.released  410      quarantined  free
spent            replay:free.released         404      free         free
spent-held       replay:held                  404      held         held
`
