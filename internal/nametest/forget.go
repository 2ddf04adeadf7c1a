package nametest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/storetest"
)

const (
	forgetQuarantine  = 24 * time.Hour
	forgetHoldHistory = time.Hour
	tombstoneLife     = 31 * 24 * time.Hour
)

// Forget runs the life of a person whose names, id, principal, correlation ids and meta all
// contain one random text. It forgets the person, and searches all data of the engine for
// that text. When the tombstones are gone too, not even hashes may be left. Names of others
// stay unchanged.
func Forget(t *testing.T, newHarness func(tb testing.TB, clock *storetest.Clock) *Harness) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed of the values: %d", seed)
	clock := storetest.NewClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	p := &person{TB: t, secret: newSecret(rand.New(rand.NewPCG(seed, 0))), harness: newHarness(t, clock), clock: clock}
	p.reg = p.harness.open(t, dibs.Config{Policies: p.policies()})
	p.person = dibs.Entity{Type: "user", ID: "id-" + p.core}

	p.live()
	if len(p.traces(textNeedles("the person", p.core))) == 0 {
		t.Fatal("the search does not find existing data")
	}
	plan := p.forget(dibs.ForgetRequest{Scope: "acme", Entity: p.person, DryRun: true})
	report := p.forget(dibs.ForgetRequest{Scope: "acme", Entity: p.person})
	if len(plan.Erased) != len(report.Erased) || len(plan.Redacted) != len(report.Redacted) || len(report.Redacted) != 2 {
		t.Errorf("planned to erase %d and redact %d, did %d and %d", len(plan.Erased), len(plan.Redacted), len(report.Erased), len(report.Redacted))
	}
	p.wantNone("forgotten", textNeedles("the person", p.core))
	p.othersKeepTheirNames()
	p.takeBack()
	p.wantNone("taken by another entity, and forgotten again", textNeedles("the person", p.core))

	clock.Advance(tombstoneLife)
	p.sweepAll()
	p.wantNone("after the tombstones", p.hashes())
	p.epochsContinue()
}

// person is to be forgotten, in the scope acme.
type person struct {
	testing.TB
	secret
	harness *Harness
	clock   *storetest.Clock
	reg     *dibs.Registry
	person  dibs.Entity
	epoch   uint64 // of the main name
}

var bystander = dibs.Entity{Type: "user", ID: "bystander"}

func (p *person) policies() map[string]dibs.Policy {
	policy := dibs.Policy{Quarantine: forgetQuarantine, HoldHistory: forgetHoldHistory, ManyPerEntity: true, MaxHolds: 40}
	alike, hidden, watched := policy, policy, policy
	alike.Skeleton = coretest.Digits{}
	hidden.Blind = []dibs.BlindKey{keyA}
	watched.Witness = func(context.Context, dibs.SuspectHold) (dibs.Verdict, error) {
		return dibs.Unknown, errors.New("the table has no " + p.core)
	}
	return map[string]dibs.Policy{"email": alike, "secret": hidden, "doubtful": watched}
}

// must fails the test at an error.
func (p *person) must(_ any, err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *person) forget(request dibs.ForgetRequest) dibs.Forgetting {
	p.Helper()
	report, err := p.reg.Forget(p.Context(), request)
	if err != nil {
		p.Fatal(err)
	}
	return report
}

// reserve holds a name for the person, with all possible details.
func (p *person) reserve(namespace, value string) dibs.Hold {
	p.Helper()
	shop := p.reg.As(dibs.Principal{Name: "shop of " + p.core})
	hold, err := shop.Reserve(p.Context(), dibs.Reserve{
		Namespace: namespace, Value: value, Token: "token-of-" + p.core, Entity: p.person,
		CorrelationID: "order of " + p.core, Meta: map[string]string{p.core: "by " + p.core},
	})
	p.must(nil, err)
	return hold
}

func (p *person) confirm(hold dibs.Hold) {
	p.Helper()
	shop := p.reg.As(dibs.Principal{Name: "shop of " + p.core})
	p.must(shop.Confirm(p.Context(), dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: p.person}))
}

// live uses all commands for the person.
func (p *person) live() {
	p.Helper()
	ctx := p.Context()
	p.confirm(p.reserve("acme.email", p.main))
	p.must(p.reg.Rename(ctx, dibs.Rename{Namespace: "acme.email", Value: p.other, From: p.main, Entity: p.person, CorrelationID: p.core}))
	p.must(p.reg.Archive(ctx, dibs.Archive{Scope: "acme", Entity: p.person}))
	p.must(p.reg.Restore(ctx, dibs.Restore{Scope: "acme", Entity: p.person}))
	for i := range 40 { // more names than one command may change
		p.must(p.reg.Claim(ctx, dibs.Claim{Namespace: "acme.email", Value: fmt.Sprintf("%s-%s", p.core, word(i)), Entity: p.person}))
	}
	p.must(p.reg.Claim(ctx, dibs.Claim{Namespace: "acme.secret", Value: p.main, Entity: p.person}))
	p.reserve("acme.doubtful", p.brief) // the witness does not know it
	p.clock.Advance(time.Hour)
	p.sweepAll()

	// Names that others have by now, one of them with the details of the person's hold.
	p.confirm(p.reserve("acme.email", "handed over"))
	p.must(p.reg.Transfer(ctx, dibs.Transfer{Namespace: "acme.email", Value: "handed over", From: p.person, To: bystander}))
	for range 6 { // a long history
		p.must(p.reg.Transfer(ctx, dibs.Transfer{Namespace: "acme.email", Value: "handed over", From: bystander, To: p.person}))
		p.must(p.reg.Transfer(ctx, dibs.Transfer{Namespace: "acme.email", Value: "handed over", From: p.person, To: bystander}))
	}
	p.must(p.reg.Claim(ctx, dibs.Claim{Namespace: "acme.email", Value: "left", Entity: p.person}))
	p.must(p.reg.Decommission(ctx, dibs.Decommission{Namespace: "acme.email", Value: "left", Entity: p.person}))
	p.clock.Advance(forgetQuarantine)
	p.must(p.reg.Claim(ctx, dibs.Claim{Namespace: "acme.email", Value: "left", Entity: bystander}))
	name, err := p.reg.Get(ctx, dibs.Lookup{Namespace: "acme.email", Value: p.main})
	p.must(nil, err)
	p.epoch = name.Epoch
}

// othersKeepTheirNames demands that other owners keep their names, and that no caller gets those of
// the person.
func (p *person) othersKeepTheirNames() {
	p.Helper()
	for _, value := range []string{"handed over", "left"} {
		r, err := p.reg.Resolve(p.Context(), "acme.email", value)
		if err != nil || r.Entity != bystander {
			p.Errorf("%s leads to %+v, %v", value, r, err)
		}
		events, err := p.reg.History(p.Context(), "acme.email", value)
		if err != nil || len(events) < 4 || events[len(events)-1].Kind != dibs.EventForgotten {
			p.Errorf("the history of %s is %+v, %v", value, events, err)
		}
	}
	for _, namespace := range []string{"acme.email", "acme.secret"} {
		for _, entity := range []dibs.Entity{{}, p.person, bystander} {
			_, err := p.reg.Reserve(p.Context(), dibs.Reserve{Namespace: namespace, Value: p.main, Entity: entity})
			if !errors.Is(err, dibs.ErrNameTaken) {
				p.Errorf("%s: a forgotten name went to %s: %v", namespace, entity, err)
			}
		}
		events, err := p.reg.History(p.Context(), namespace, p.main)
		if err != nil || len(events) != 1 || events[0].Kind != dibs.EventForgotten || events[0].Value != "" || events[0].Canonical != "" {
			p.Errorf("%s: the history of a forgotten name is %+v, %v", namespace, events, err)
		}
	}
	if _, err := p.reg.Entity(p.Context(), "acme", p.person); !errors.Is(err, dibs.ErrEntityNotFound) {
		p.Errorf("the entity: %v", err)
	}
	again := p.forget(dibs.ForgetRequest{Scope: "acme", Entity: p.person})
	if !again.Replayed {
		p.Errorf("forgetting it again: %+v", again)
	}
}

// takeBack lets the person come back and be forgotten again. Then another entity takes a
// forgotten name that has a tombstone, in a transaction if the engine has those, and that
// name is forgotten.
func (p *person) takeBack() {
	p.Helper()
	p.must(p.reg.Claim(p.Context(), dibs.Claim{Namespace: "acme.email", Value: "back", Entity: p.person}))
	info, err := p.reg.Entity(p.Context(), "acme", p.person)
	if err != nil || len(info.Names) != 1 {
		p.Errorf("the entity came back as %+v, %v", info, err)
	}
	p.forget(dibs.ForgetRequest{Scope: "acme", Entity: p.person})
	p.clock.Advance(forgetQuarantine)
	for _, namespace := range []string{"acme.email", "acme.secret"} {
		claim := func(reg *dibs.Registry) error {
			name, err := reg.Claim(p.Context(), dibs.Claim{Namespace: namespace, Value: p.main, Entity: bystander})
			if err == nil && name.Epoch <= p.epoch && namespace == "acme.email" {
				p.Errorf("the epoch is %d, it was %d", name.Epoch, p.epoch)
			}
			return err
		}
		err := claim(p.reg)
		if p.harness.InTx != nil {
			p.forget(dibs.ForgetRequest{Namespace: namespace, Value: p.main, Entity: bystander})
			p.clock.Advance(forgetQuarantine)
			err = errors.Join(err, p.harness.inTx(p.Context(), p.reg, claim))
		}
		if err != nil {
			p.Fatal(err)
		}
		r, err := p.reg.Resolve(p.Context(), namespace, p.main)
		if err != nil || r.Entity != bystander {
			p.Errorf("%s leads to %+v, %v", p.main, r, err)
		}
		events, err := p.reg.History(p.Context(), namespace, p.main)
		if err != nil || len(events) != 2 || events[1].Kind != dibs.EventClaimed || events[1].Value == "" {
			p.Errorf("its history is %+v, %v", events, err)
		}
		p.forget(dibs.ForgetRequest{Namespace: namespace, Value: p.main, Entity: bystander})
	}
}

// epochsContinue demands that the epoch of an erased name does not start over.
func (p *person) epochsContinue() {
	p.Helper()
	name, err := p.reg.Claim(p.Context(), dibs.Claim{Namespace: "acme.email", Value: p.main, Entity: p.person})
	if err != nil || name.Epoch <= p.epoch {
		p.Errorf("the epoch is %d, it was %d; %v", name.Epoch, p.epoch, err)
	}
}

func (p *person) sweepAll() {
	p.Helper()
	for {
		report, err := p.reg.Sweep(p.Context(), 1000)
		p.must(nil, err)
		if !report.More {
			return
		}
	}
}

// hashes are all needles for the person, IDs included.
func (p *person) hashes() []needle {
	namespaces := []string{"acme.email", "acme.secret", "acme.doubtful"}
	list := p.needles(namespaces...)
	list = append(list, hashNeedles("acme\x00user\x00"+p.person.ID)...)
	return append(list, hashNeedles("token-of-"+p.core)...)
}

// traces returns the needles that are in the engine's data.
func (p *person) traces(needles []needle) map[string]bool {
	p.Helper()
	return newFinder(needles).find(p.harness.Dump(p.TB))
}

func (p *person) wantNone(when string, needles []needle) {
	p.Helper()
	for what := range p.traces(needles) {
		p.Errorf("%s: the data still contains %s", when, what)
	}
}
