package core_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/core"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/memstore"
)

// Tokens and entities that most tests speak of.
const (
	token1 = "token-of-the-holder"
	token2 = "token-of-a-stranger"
	token3 = "token-of-the-next-holder"
)

var (
	user1 = dibs.Entity{Type: "user", ID: "1"}
	user2 = dibs.Entity{Type: "user", ID: "2"}
	user3 = dibs.Entity{Type: "user", ID: "3"}
)

// clock is an engine clock that moves only when it is told to.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// fixture is a registry on memstore whose time stands still.
type fixture struct {
	*dibs.Registry
	t     *testing.T
	ctx   context.Context
	store *memstore.Store
	clock *clock
}

// newFixture opens a registry with these policies. It acts for nobody in
// particular, with the rights of who embeds the library.
func newFixture(t *testing.T, policies map[string]dibs.Policy) *fixture {
	t.Helper()
	c := newClock()
	store := memstore.New(memstore.Config{Now: c.Now})
	r := mustOpen(t, strictStore{store, t}, dibs.Config{Policies: policies})
	return &fixture{Registry: r, t: t, ctx: t.Context(), store: store, clock: c}
}

func mustOpen(t *testing.T, store dibs.Store, cfg dibs.Config) *dibs.Registry {
	t.Helper()
	r, err := core.Open(store, cfg)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return r
}

// reopened returns the fixture with another registry, with other policies, on the
// same store.
func (f *fixture) reopened(policies map[string]dibs.Policy) *fixture {
	f.t.Helper()
	g := *f
	g.Registry = mustOpen(f.t, strictStore{f.store, f.t}, dibs.Config{Policies: policies})
	return &g
}

// as returns the fixture for another principal.
func (f *fixture) as(name string, rights dibs.Rights) *fixture {
	g := *f
	g.Registry = f.As(dibs.Principal{Name: name, Rights: rights})
	return &g
}

// must applies commands that have to succeed and change something.
func (f *fixture) must(commands ...dibs.Command) []dibs.Result {
	f.t.Helper()
	results, err := f.Apply(f.ctx, commands...)
	if err != nil {
		f.t.Fatalf("%#v: %v", commands, err)
	}
	for i, r := range results {
		if r.Replayed {
			f.t.Fatalf("%#v: replayed, want a change", commands[i])
		}
	}
	return results
}

// one applies a command that has to succeed and returns the name it is about.
func (f *fixture) one(command dibs.Command) dibs.Name {
	f.t.Helper()
	return f.must(command)[0].Names[0]
}

// replayed applies a command whose result has to stand already: nothing changes.
func (f *fixture) replayed(command dibs.Command) dibs.Result {
	f.t.Helper()
	before := f.events()
	results, err := f.Apply(f.ctx, command)
	if err != nil {
		f.t.Fatalf("%#v: %v", command, err)
	}
	if !results[0].Replayed {
		f.t.Fatalf("%#v: not replayed", command)
	}
	if after := f.events(); len(after) != len(before) {
		f.t.Fatalf("%#v: replayed, but it wrote %v", command, after[len(before):])
	}
	return results[0]
}

// refused applies commands that have to be refused with an error that matches
// want, carries a message, gives no token away, and changes nothing.
func (f *fixture) refused(want error, commands ...dibs.Command) *dibs.Error {
	f.t.Helper()
	before := f.dump()
	_, err := f.Apply(f.ctx, commands...)
	e := f.checkError(err, want)
	if after := f.dump(); !reflect.DeepEqual(before, after) {
		f.t.Fatalf("%#v was refused, but it changed something:\n%v\n%v", commands, before, after)
	}
	return e
}

// checkError checks an error of the registry: its sentinel, and that a person can
// use it.
func (f *fixture) checkError(err, want error) *dibs.Error {
	f.t.Helper()
	if !errors.Is(err, want) {
		f.t.Fatalf("got error %v, want %v", err, want)
	}
	var e *dibs.Error
	if !errors.As(err, &e) {
		f.t.Fatalf("%v is a %T, not a *dibs.Error", err, err)
	}
	if len(e.Message) < 10 {
		f.t.Errorf("the message %q does not say what is wrong", e.Message)
	}
	for _, secret := range []string{token1, token2} {
		if strings.Contains(err.Error(), secret) {
			f.t.Errorf("the error %q gives a token away", err)
		}
	}
	return e
}

// stored is everything that a registry has.
type stored struct {
	Records []dibs.Record
	Events  []dibs.Event
}

func (f *fixture) dump() stored {
	f.t.Helper()
	all := stored{Events: f.events()}
	for _, kind := range []dibs.Kind{dibs.KindName, dibs.KindFloor, dibs.KindQuota, dibs.KindSkeleton, dibs.KindHash} {
		records, err := f.store.List(f.ctx, dibs.ListQuery{Kind: kind, Limit: 10_000})
		if err != nil {
			f.t.Fatal(err)
		}
		all.Records = append(all.Records, records...)
	}
	return all
}

func (f *fixture) events() []dibs.Event {
	f.t.Helper()
	events, err := f.store.Events(f.ctx, dibs.EventQuery{Limit: 100_000})
	if err != nil {
		f.t.Fatal(err)
	}
	return events
}

// history returns a name's events, oldest first. Read in pages they must be the same.
func (f *fixture) history(namespace, value string) []dibs.Event {
	f.t.Helper()
	whole, err := f.History(f.ctx, namespace, value)
	if err != nil {
		f.t.Fatal(err)
	}
	for limit := 1; limit <= 3; limit++ {
		query := dibs.HistoryQuery{Namespace: namespace, Value: value, Limit: limit}
		var events []dibs.Event
		for first := true; first || query.Cursor != ""; first = false {
			page, err := f.HistoryPage(f.ctx, query)
			if err != nil {
				f.t.Fatal(err)
			}
			if len(page.Events) > limit || len(page.Events) < limit && page.Next != "" {
				f.t.Fatalf("a page of %d events has %d, and the next begins at %q", limit, len(page.Events), page.Next)
			}
			events = append(page.Events, events...)
			query.Cursor = page.Next
		}
		if !reflect.DeepEqual(events, whole) {
			f.t.Fatalf("in pages of %d the history of %s:%s is\n%+v\nand as a whole\n%+v", limit, namespace, value, events, whole)
		}
	}
	return whole
}

// kinds returns the kinds of a name's events, oldest first.
func (f *fixture) kinds(namespace, value string) []dibs.EventKind {
	f.t.Helper()
	events := f.history(namespace, value)
	kinds := make([]dibs.EventKind, len(events))
	for i, e := range events {
		kinds[i] = e.Kind
	}
	return kinds
}

// name returns a name that has to have a row.
func (f *fixture) name(namespace, value string) dibs.Name {
	f.t.Helper()
	n, err := f.Get(f.ctx, dibs.Lookup{Namespace: namespace, Value: value})
	if err != nil {
		f.t.Fatal(err)
	}
	return n
}

// wantState checks what a name is now; a name without a row is free.
func (f *fixture) wantState(namespace, value string, want dibs.State) {
	f.t.Helper()
	n, err := f.Get(f.ctx, dibs.Lookup{Namespace: namespace, Value: value})
	if errors.Is(err, dibs.ErrNotFound) {
		n.State, err = dibs.Free, nil
	}
	if err != nil {
		f.t.Fatal(err)
	}
	if n.State != want {
		f.t.Fatalf("%s:%s is %s, want %s", namespace, value, n.State, want)
	}
}

// wantLeads checks where a name leads: a status, and for a redirect the name.
func (f *fixture) wantLeads(namespace, value string, status int, to string) {
	f.t.Helper()
	r, err := f.Resolve(f.ctx, namespace, value)
	if err != nil {
		f.t.Fatal(err)
	}
	var got string
	if r.To != nil {
		got = r.To.Canonical
	}
	if r.Status != status || got != to {
		f.t.Fatalf("%s:%s leads to %d %q, want %d %q", namespace, value, r.Status, got, status, to)
	}
}

func (f *fixture) sweep() dibs.SweepReport {
	f.t.Helper()
	report, err := f.Sweep(f.ctx, 1000)
	if err != nil {
		f.t.Fatal(err)
	}
	return report
}

// version returns an entity's version.
func (f *fixture) version(entity dibs.Entity) uint64 {
	f.t.Helper()
	info, err := f.Entity(f.ctx, "", entity)
	if err != nil {
		f.t.Fatal(err)
	}
	return info.Version
}

// claim, rename and reserve are the commands that most tests set the stage with.

func claim(namespace, value string, entity dibs.Entity) dibs.Claim {
	return dibs.Claim{Namespace: namespace, Value: value, Entity: entity}
}

func rename(namespace, value string, entity dibs.Entity) dibs.Rename {
	return dibs.Rename{Namespace: namespace, Value: value, Entity: entity}
}

func reserve(namespace, value, token string) dibs.Reserve {
	return dibs.Reserve{Namespace: namespace, Value: value, Token: token}
}

func decommission(namespace, value string, entity dibs.Entity) dibs.Decommission {
	return dibs.Decommission{Namespace: namespace, Value: value, Entity: entity}
}

// alice is a person of whom nothing is to be left. Whatever is hers alone has "alice" in it.
var alice = dibs.Entity{Type: "user", ID: "alice-17"}

func alwaysUnknown(context.Context, dibs.SuspectHold) (dibs.Verdict, error) { return dibs.Unknown, nil }

// floors returns the floor documents that a registry has.
func (f *fixture) floors() []*dibs.Document {
	f.t.Helper()
	records, err := f.store.List(f.ctx, dibs.ListQuery{Kind: dibs.KindFloor, Limit: 100})
	if err != nil {
		f.t.Fatal(err)
	}
	var floors []*dibs.Document
	for _, r := range records {
		floors = append(floors, r.(*dibs.Document))
	}
	return floors
}

func (f *fixture) forget(request dibs.ForgetRequest) dibs.Forgetting {
	f.t.Helper()
	report, err := f.Forget(f.ctx, request)
	if err != nil {
		f.t.Fatalf("%+v: %v", request, err)
	}
	return report
}

// wantNoTrace fails if the store has a text anywhere.
func (f *fixture) wantNoTrace(text string) {
	f.t.Helper()
	for _, trace := range f.traces(text) {
		f.t.Errorf("there is still %s", trace)
	}
}

// traces returns all that the store has of a text.
func (f *fixture) traces(text string) (found []string) {
	f.t.Helper()
	all := f.dump()
	entities, err := f.store.Load(f.ctx, []dibs.Ref{
		{Kind: dibs.KindEntity, ID: dibs.EntityID("", alice)}, {Kind: dibs.KindEntity, ID: dibs.EntityID("", user2)},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	var things []any
	for _, r := range slices.Concat(all.Records, entities.Records) {
		if d, ok := r.(*dibs.Document); ok {
			things = append(things, string(d.Data))
		}
		things = append(things, r)
	}
	for _, e := range all.Events {
		things = append(things, e)
	}
	for _, thing := range things {
		written, err := json.Marshal(thing)
		if err != nil {
			f.t.Fatal(err)
		}
		if strings.Contains(strings.ToLower(string(written)), text) {
			found = append(found, string(written))
		}
	}
	return found
}

// aliceLives gives alice names in every way there is. Two that she had are user2's in
// the end, under names that are not hers.
func (f *fixture) aliceLives() {
	f.t.Helper()
	hers := f.as("shop for alice", 0)
	reserved := func(value string) dibs.Reserve {
		return dibs.Reserve{
			Namespace: "slug", Value: value, Token: token1, Entity: alice,
			CorrelationID: "order of alice", Meta: map[string]string{"by": "Alice"},
		}
	}
	hold := hers.one(reserved("Alice"))
	hers.must(dibs.Confirm{ID: hold.ID, Token: token1, Entity: alice})
	f.must(rename("slug", "alice-2", alice), dibs.Archive{Entity: alice}, dibs.Restore{Entity: alice})
	f.must(claim("email", "alice@home", alice), claim("email", "alice@work", alice), decommission("email", "alice@home", alice))

	// One that she had, and somebody else took.
	f.must(rename("slug", "first", alice), decommission("slug", "first", alice), claim("slug", "first", user2))
	// One that she gave away, with the details of her hold on it.
	given := hers.one(reserved("given"))
	hers.must(dibs.Confirm{ID: given.ID, Token: token1, Entity: alice})
	f.must(decommission("slug", "first", user2), dibs.Transfer{Namespace: "slug", Value: "given", From: alice, To: user2})
	// One that she exchanged.
	f.must(claim("slug", "alice-3", user3), rename("slug", "swapped", alice))
	f.must(dibs.Swap{Namespace: "slug", A: dibs.Named{Value: "swapped", Entity: alice}, B: dibs.Named{Value: "alice-3", Entity: user3}})
	// Holds for her: one is over, one is not.
	hers.must(reserved("alice-was-here"), dibs.Release{ID: dibs.NameID("slug", "alice-was-here"), Token: token1})
	hers.must(reserved("alice-is-here"))
}

func (f *fixture) wantFirstHeldBy(entity dibs.Entity) {
	f.t.Helper()
	events, err := f.History(f.ctx, "slug", "first")
	if err != nil {
		f.t.Fatal(err)
	}
	if !events[0].Entity.IsZero() || events[2].Entity != entity || events[3].Entity != entity {
		f.t.Errorf("the history is %+v", events)
	}
}

func (f *fixture) confusable(commands ...dibs.Command) {
	f.t.Helper()
	e := f.refused(dibs.ErrNameTaken, commands...)
	if e.Reason != dibs.ReasonConfusable {
		f.t.Errorf("%s: the reason is %q", e.Message, e.Reason)
	}
}

func (f *fixture) check(namespace, value string) dibs.Availability {
	f.t.Helper()
	answers, err := f.Check(f.ctx, dibs.CheckRequest{Namespace: namespace, Values: []string{value}, Suggest: 3})
	if err != nil {
		f.t.Fatal(err)
	}
	return answers[0]
}

func (f *fixture) skeletons() (docs []*dibs.Document) {
	f.t.Helper()
	records, err := f.store.List(f.ctx, dibs.ListQuery{Kind: dibs.KindSkeleton, Limit: 100})
	if err != nil {
		f.t.Fatal(err)
	}
	for _, r := range records {
		docs = append(docs, r.(*dibs.Document))
	}
	return docs
}

func (f *fixture) forgetCell(request dibs.ForgetRequest) string {
	report, err := f.Forget(f.ctx, request)
	if e, ok := errors.AsType[*dibs.Error](err); ok {
		return cellCodes[e.Code]
	}
	i := slices.IndexFunc(report.Erased, func(n dibs.Name) bool { return n.Canonical == "x" && n.Namespace != "" })
	switch {
	case err != nil:
		return err.Error()
	case report.Replayed:
		return "replay"
	case i < 0:
		return "not erased"
	default:
		return "ok:" + string(report.Erased[i].State)
	}
}

// wantTombstone demands that x is forgotten, and kept back no less than before.
func (f *fixture) wantTombstone(namespace string, before dibs.Name, want dibs.State) {
	f.t.Helper()
	n := f.name(namespace, "x")
	if n.State != want || n.Value != "" || n.Canonical != "" || n.Epoch != before.Epoch || !n.Entity.IsZero() || n.Principal != "" {
		f.t.Errorf("the tombstone is %+v", n)
	}
	if before.State == dibs.Quarantined && !n.Until.Equal(before.Until) {
		f.t.Errorf("it is kept back until %s, it was until %s", n.Until, before.Until)
	}
	if kinds := f.kinds(namespace, "x"); !slices.Equal(kinds, []dibs.EventKind{dibs.EventForgotten}) {
		f.t.Errorf("its history is %v", kinds)
	}
	f.refused(dibs.ErrNotFound, dibs.Release{ID: n.ID, Token: token1})
	f.refused(dibs.ErrNotFound, dibs.Settle{ID: n.ID, Verdict: dibs.Absent})
	for _, entity := range []dibs.Entity{{}, user1, user3} {
		r := reserveFor(namespace, token2, entity)
		if want == dibs.Quarantined {
			f.refused(dibs.ErrNameTaken, r)
			continue
		}
		hold := f.one(r)
		if hold.Epoch <= n.Epoch || hold.Canonical != "x" {
			f.t.Errorf("it was taken as %+v", hold)
		}
		n.Epoch = hold.Epoch
		f.must(dibs.Release{ID: hold.ID, Token: token2})
		f.forget(dibs.ForgetRequest{Namespace: namespace, Value: "x"})
	}
}

// list returns the keys of all pages.
func (f *fixture) list(query dibs.NamesQuery) string {
	f.t.Helper()
	keys := []string{}
	for {
		page, err := f.List(f.ctx, query)
		if err != nil {
			f.t.Fatal(err)
		}
		for _, n := range page.Names {
			keys = append(keys, n.Key())
		}
		if page.Next == "" {
			return fmt.Sprint(keys)
		}
		query.Cursor = page.Next
	}
}

func (f *fixture) recanonicalize(dryRun bool) dibs.Recanonicalization {
	f.t.Helper()
	report, err := f.Recanonicalize(f.ctx, dibs.RecanonicalizeRequest{Namespace: "slug", DryRun: dryRun})
	if err != nil {
		f.t.Fatal(err)
	}
	return report
}

// What the entity's record says is what its rows say.
func (f *fixture) wantActive(entity dibs.Entity, want ...string) {
	f.t.Helper()
	loaded, err := f.store.Load(f.ctx, []dibs.Ref{{Kind: dibs.KindEntity, ID: dibs.EntityID("", entity)}})
	if err != nil || len(loaded.Records) != 1 {
		f.t.Fatal(err, len(loaded.Records))
	}
	var noted []dibs.ID
	for _, id := range loaded.Records[0].(*dibs.EntityRecord).Active {
		noted = append(noted, id)
	}
	info, err := f.Entity(f.ctx, "", entity)
	if err != nil {
		f.t.Fatal(err)
	}
	var active []string
	for _, n := range info.Names {
		if n.State == dibs.Active {
			active = append(active, n.Canonical)
			if !slices.Contains(noted, n.ID) {
				f.t.Errorf("%s is active, but its entity does not know", n.Canonical)
			}
		}
	}
	if len(noted) != len(active) || !slices.Equal(active, want) {
		f.t.Errorf("%s has the active names %q, want %q; its record notes %d", entity, active, want, len(noted))
	}
}

// tokensOf is how many tokens of earlier holds the row of a slug has.
func (f *fixture) tokensOf(value string) int {
	f.t.Helper()
	found, err := f.store.Load(f.ctx, []dibs.Ref{{Kind: dibs.KindName, ID: dibs.NameID("slug", value)}})
	if err != nil || len(found.Records) != 1 {
		f.t.Fatalf("%+v, %v", found, err)
	}
	return len(found.Records[0].(*dibs.NameRecord).Spent)
}

// lastRev is the revision of a name's newest event.
func (f *fixture) lastRev(ns, value string) uint64 {
	f.t.Helper()
	events, err := f.History(f.ctx, ns, value)
	if err != nil || len(events) == 0 {
		f.t.Fatal(err, "no events")
	}
	return events[len(events)-1].Rev
}

func wantKinds(t *testing.T, f *fixture, ns, value string, want ...dibs.EventKind) {
	t.Helper()
	if got := f.kinds(ns, value); !slices.Equal(got, want) {
		t.Errorf("the history of %s is %v, want %v", value, got, want)
	}
}
