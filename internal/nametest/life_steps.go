package nametest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/calldibs/dibs"
)

const lifeToken = "a-token-that-is-long-enough"

// run runs the whole life.
func (l *life) run() {
	l.Helper()
	l.reg = l.open(keyA)
	for _, namespace := range l.namespaces()[:2] {
		l.hold(namespace)
		l.errors(namespace)
		l.own(namespace)
		l.giveUp(namespace)
		l.neverConfirmed(namespace)
	}
	l.suspects()
	l.odd()
	l.do()
	l.inTx()
	l.overview()
	l.rotate()
	l.otherRules()
}

func (l *life) reserve(namespace, value string) dibs.Reserve {
	return dibs.Reserve{Namespace: namespace, Value: value, Token: lifeToken}
}

func (l *life) claim(namespace, value, entity string) dibs.Claim {
	return dibs.Claim{Namespace: namespace, Value: value, Entity: l.entity(entity)}
}

// hold reserves the value and reads it in every way.
func (l *life) hold(namespace string) {
	l.Helper()
	want := l.reserve(namespace, l.main)
	hold := l.must(want)
	if again := l.must(want); !again.Replayed {
		l.Fatal("the replayed hold differs")
	}
	l.must(dibs.Extend{ID: hold.Names[0].ID, Token: want.Token, TTL: dibs.For(2 * lifeTTL)})
	l.check(namespace)
	l.refused(dibs.ErrNameTaken, l.claim(namespace, strings.ToUpper(l.main), "2"))
	l.refused(dibs.ErrNameTaken, l.claim(namespace, l.twin, "2"))
	l.refused(dibs.ErrLost, dibs.Release{ID: hold.Names[0].ID, Token: "not-the-right-token-at-all"})
	l.read(namespace, l.main)
	l.must(dibs.Confirm{ID: hold.Names[0].ID, Token: want.Token, Entity: l.entity("1")})
	l.refused(dibs.ErrAlreadyConfirmed, dibs.Release{ID: hold.Names[0].ID, Token: want.Token})
	if again := l.must(l.claim(namespace, l.main, "1")); !again.Replayed {
		l.Fatal("the names differ")
	}
}

// check checks whether values are available.
func (l *life) check(namespace string) {
	l.Helper()
	answers, err := l.reg.Check(l.Context(), dibs.CheckRequest{
		Namespace: namespace, Values: []string{l.main, l.twin, l.other, l.word, l.wrong, l.main + "\x00"}, Suggest: 3,
	})
	for i := range answers {
		answers[i].Value = "" // the caller's own
	}
	l.record(answers, err)
}

// read reads everything about a value.
func (l *life) read(namespace, value string) {
	l.Helper()
	ctx := l.Context()
	n, err := l.reg.Get(ctx, dibs.Lookup{Namespace: namespace, Value: value})
	l.record(n, err)
	l.record(l.reg.Get(ctx, dibs.Lookup{ID: n.ID}))
	l.record(l.reg.Resolve(ctx, namespace, value))
	l.record(l.reg.History(ctx, namespace, value))
	l.record(l.reg.WhoHeld(ctx, namespace, value, l.clock.Now()))
	l.record(l.reg.IsReserved(ctx, namespace, value))
	l.record(l.reg.List(ctx, dibs.NamesQuery{Namespace: namespace}))
}

// errors provokes refusals of every kind.
func (l *life) errors(namespace string) {
	l.Helper()
	l.refused(dibs.ErrInvalidValue, l.claim(namespace, l.wrong, "2"))
	l.refused(dibs.ErrInvalidValue, l.claim(namespace, l.main+"\x00", "2"))
	l.refused(dibs.ErrInvalidValue, l.claim(namespace, strings.Repeat(l.main, 50), "2"))
	l.refused(dibs.ErrReservedWord, l.claim(namespace, l.word, "2"))
	nobody := l.reg.As(dibs.Principal{Name: "nobody"})
	l.refusedBy(nobody, dibs.ErrReservedWord, dibs.Reserve{Namespace: namespace, Value: l.word, OverrideReserved: true})
	l.refused(dibs.ErrTTLTooLong, dibs.Reserve{Namespace: namespace, Value: l.other, TTL: dibs.For(1000 * time.Hour)})
	l.refused(dibs.ErrNameTaken, dibs.ReserveFirst{Namespace: namespace, Values: []string{l.main, l.twin}})
	l.refused(dibs.ErrNameTaken, dibs.ReserveAll{Reservations: []dibs.Reserve{
		{Namespace: namespace, Value: l.other}, {Namespace: namespace, Value: l.main}, {Namespace: namespace, Value: l.twin},
	}})
	l.refused(dibs.ErrNotFound, dibs.Decommission{Namespace: namespace, Value: l.brief, Entity: l.entity("1")})
	l.refused(dibs.ErrNotOwner, dibs.Decommission{Namespace: namespace, Value: l.main, Entity: l.entity("2")})
	l.refused(dibs.ErrEntityHasName, l.claim(namespace, l.other, "1"))
	l.refused(dibs.ErrVersionMismatch, dibs.Rename{Namespace: namespace, Value: l.other, Entity: l.entity("1"), IfVersion: 99})
	_, err := l.reg.Apply(l.Context(), l.claim(namespace, l.wrong, "2"), l.claim(namespace, l.main, "2"), l.claim(namespace, l.twin, "3"))
	l.said.tell(err)
	over, cancel := context.WithCancel(l.Context())
	cancel()
	_, err = l.reg.Apply(over, l.claim(namespace, l.brief, "2"))
	l.said.tell(err)
}

// scopeOf is the scope of a namespace's entities.
func scopeOf(namespace string) string {
	scope, _, scoped := strings.Cut(namespace, ".")
	if !scoped {
		return ""
	}
	return scope
}

// own uses the commands of an owner.
func (l *life) own(namespace string) {
	l.Helper()
	scope, one, two := scopeOf(namespace), l.entity("1"), l.entity("2")
	l.must(dibs.Rename{Namespace: namespace, Value: l.other, Entity: one})
	l.read(namespace, l.main)
	l.must(dibs.Rename{Namespace: namespace, Value: l.main, Entity: one})
	l.must(dibs.Rename{Namespace: namespace, Value: strings.ToUpper(l.main), Entity: one})
	l.must(dibs.Transfer{Namespace: namespace, Value: l.other, From: one, To: two})
	l.must(dibs.Swap{Namespace: namespace, A: dibs.Named{Value: l.main, Entity: one}, B: dibs.Named{Value: l.other, Entity: two}})
	l.must(dibs.Rename{Namespace: namespace, Value: l.twin, Entity: two})
	l.refused(dibs.ErrNameTaken, dibs.Transfer{Namespace: namespace, Value: l.twin, From: two, To: l.entity("3")})
	l.must(dibs.Archive{Scope: scope, Entity: two})
	l.read(namespace, l.main)
	l.check(namespace)
	l.must(dibs.Restore{Scope: scope, Entity: two})
	l.record(l.reg.Entity(l.Context(), scope, two))
}

// giveUp ends all holds and ownerships of the values.
func (l *life) giveUp(namespace string) {
	l.Helper()
	l.must(dibs.Decommission{Namespace: namespace, Value: l.main, Entity: l.entity("2")})
	l.refused(dibs.ErrNameTaken, l.claim(namespace, l.main, "3"))
	for _, id := range []string{"1", "2"} {
		l.must(dibs.Delete{Scope: scopeOf(namespace), Entity: l.entity(id)})
	}
	l.check(namespace)
	l.pass(lifeKept)
	l.must(l.claim(namespace, l.main, "4"))
}

// neverConfirmed lets a hold expire, and waits until it is purged.
func (l *life) neverConfirmed(namespace string) {
	l.Helper()
	l.must(l.reserve(namespace, l.brief))
	l.pass(lifeTTL)
	l.read(namespace, l.brief)
	l.pass(lifeKept)
	if _, err := l.reg.Get(l.Context(), dibs.Lookup{Namespace: namespace, Value: l.brief}); !errors.Is(err, dibs.ErrNotFound) {
		l.Fatalf("the hold was not purged: %v", err)
	}
	hold := l.must(l.reserve(namespace, l.brief))
	l.must(dibs.Release{ID: hold.Names[0].ID, Token: hold.Token})
	l.pass(lifeKept)
}

// suspects lets holds become suspect: the witness decides one, an operator settles the other.
func (l *life) suspects() {
	l.Helper()
	namespace := l.kind + "-seen"
	l.must(dibs.Reserve{Namespace: namespace, Value: l.main, Entity: l.entity("5"), CorrelationID: "exists"})
	doubted := l.must(dibs.Reserve{Namespace: namespace, Value: l.other, Entity: l.entity("6")}).Names[0].ID
	l.pass(lifeTTL)
	l.refused(dibs.ErrNameTaken, l.claim(namespace, l.other, "7"))
	l.read(namespace, l.other)
	l.read(namespace, l.main)
	l.must(dibs.Settle{ID: doubted, Verdict: dibs.Absent})
}

// odd uses a profile that reveals values in errors and panics.
func (l *life) odd() {
	l.Helper()
	for _, value := range []string{l.wrong, l.main} {
		l.refused(dibs.ErrInvalidValue, l.claim(l.kind+"-odd", value, "8"))
	}
}

// do calls Do with functions that fail.
func (l *life) do() {
	l.Helper()
	for _, failure := range []error{errors.New("nothing was saved"), dibs.Unsure(errors.New("unknown outcome"))} {
		l.recordAny(l.reg.Do(l.Context(), dibs.Reserve{Namespace: l.kind, Value: l.brief}, func(context.Context, dibs.Hold) (dibs.Entity, error) {
			return dibs.Entity{}, failure
		}))
	}
	l.recordAny(l.reg.Do(l.Context(), dibs.Reserve{Namespace: l.kind, Value: l.main}, nil)) // the name is taken
}

// inTx runs some commands in the caller's own transaction.
func (l *life) inTx() {
	l.Helper()
	if l.harness.InTx == nil {
		return
	}
	err := l.harness.inTx(l.Context(), l.reg, func(bound *dibs.Registry) error {
		for _, value := range []string{l.main, l.twin} {
			if err := l.tryRefused(bound, dibs.ErrNameTaken, l.claim(l.kind, value, "9")); err != nil {
				return err
			}
		}
		results, err := bound.Apply(l.Context(), dibs.Rename{Namespace: l.kind, Value: l.other, Entity: l.entity("4")})
		l.recordAny(results, err)
		return err
	})
	if err != nil {
		l.Fatal(err)
	}
}

// overview reads all names.
func (l *life) overview() {
	l.Helper()
	events := 0
	eachEvent(l, l.reg, func(e *dibs.Event) {
		l.said.tell(*e)
		events++
	})
	for e, err := range l.reg.Watch(l.Context(), dibs.FeedQuery{}) {
		l.record(e, err)
		if events--; events == 0 {
			break
		}
	}
	l.record(l.reg.Conflicts(l.Context(), dibs.ConflictsQuery{}))
	for _, namespace := range l.namespaces() {
		for _, dry := range []bool{true, false} {
			l.record(l.reg.Recanonicalize(l.Context(), dibs.RecanonicalizeRequest{Namespace: namespace, DryRun: dry}))
		}
	}
}

// rotate replaces one key by the next.
func (l *life) rotate() {
	l.Helper()
	if !l.blind {
		return
	}
	both := l.open(keyB, keyA)
	report, err := both.Recanonicalize(l.Context(), dibs.RecanonicalizeRequest{Namespace: l.kind})
	l.record(report, err)
	if report.Counts[dibs.FindingUnfiled] == 0 {
		l.Fatal("a new key has no names to index")
	}
	l.refusedBy(both, dibs.ErrNameTaken, l.claim(l.kind, l.twin, "9"))
	l.mustBy(both, dibs.Rekey{Namespace: l.kind, Value: l.main})
	l.refusedBy(both, dibs.ErrNotFound, dibs.Rekey{Namespace: l.kind, Value: "un" + l.brief})
	next := l.open(keyB)
	l.refusedBy(next, dibs.ErrNameTaken, l.claim(l.kind, l.main, "9"))
	l.record(next.History(l.Context(), l.kind, l.main))
}

// otherRules opens registries with other configurations.
func (l *life) otherRules() {
	l.Helper()
	policies := l.policies(keyA)
	for _, change := range []func(p *dibs.Policy){
		func(p *dibs.Policy) { p.Skeleton = nil },
		func(p *dibs.Policy) { p.Profile = nil },
	} {
		p := policies[l.kind]
		change(&p)
		reg := l.harness.open(l, l.said.config(map[string]dibs.Policy{l.kind: p}))
		l.refusedBy(reg, dibs.ErrUnavailable, l.claim(l.kind, "un"+l.brief, "9"))
		l.recordAny(reg.Recanonicalize(l.Context(), dibs.RecanonicalizeRequest{Namespace: l.kind, DryRun: true}))
	}
}
