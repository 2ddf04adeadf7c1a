package coretest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs/storetest"

	"github.com/calldibs/dibs/internal/core"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/memstore"
)

// Tokens and entities that most tests speak of.
const (
	Token1 = "token-of-the-holder"
	Token2 = "token-of-a-stranger"
	Token3 = "token-of-the-next-holder"
)

var (
	User1 = dibs.Entity{Type: "user", ID: "1"}
	User2 = dibs.Entity{Type: "user", ID: "2"}
	User3 = dibs.Entity{Type: "user", ID: "3"}
)

// NewClock returns an engine clock that moves only when a test advances it.
func NewClock() *storetest.Clock {
	return storetest.NewClock(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
}

// Fixture is a registry on memstore whose time stands still.
type Fixture struct {
	*dibs.Registry
	T      *testing.T
	Ctx    context.Context
	Engine *memstore.Store
	Clock  *storetest.Clock
}

// NewFixture opens a registry with these policies. It acts for nobody in
// particular, with the rights of who embeds the library.
func NewFixture(t *testing.T, policies map[string]dibs.Policy) *Fixture {
	t.Helper()
	c := NewClock()
	store := memstore.New(memstore.Config{Now: c.Now})
	r := MustOpen(t, StrictStore{store, t}, dibs.Config{Policies: policies})
	return &Fixture{Registry: r, T: t, Ctx: t.Context(), Engine: store, Clock: c}
}

func MustOpen(t *testing.T, store dibs.Store, cfg dibs.Config) *dibs.Registry {
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

// Reopened returns the fixture with another registry, with other policies, on the
// same store.
func (f *Fixture) Reopened(policies map[string]dibs.Policy) *Fixture {
	f.T.Helper()
	g := *f
	g.Registry = MustOpen(f.T, StrictStore{f.Engine, f.T}, dibs.Config{Policies: policies})
	return &g
}

// as returns the fixture for another principal.
func (f *Fixture) ActAs(name string, rights dibs.Rights) *Fixture {
	g := *f
	g.Registry = f.As(dibs.Principal{Name: name, Rights: rights})
	return &g
}

// Must applies commands that have to succeed and change something.
func (f *Fixture) Must(commands ...dibs.Command) []dibs.Result {
	f.T.Helper()
	results, err := f.Apply(f.Ctx, commands...)
	if err != nil {
		f.T.Fatalf("%#v: %v", commands, err)
	}
	for i, r := range results {
		if r.Replayed {
			f.T.Fatalf("%#v: replayed, want a change", commands[i])
		}
	}
	return results
}

// One applies a command that has to succeed and returns the name it is about.
func (f *Fixture) One(command dibs.Command) dibs.Name {
	f.T.Helper()
	return f.Must(command)[0].Names[0]
}

// Replayed applies a command whose result has to stand already: nothing changes.
func (f *Fixture) Replayed(command dibs.Command) dibs.Result {
	f.T.Helper()
	before := f.AllEvents()
	results, err := f.Apply(f.Ctx, command)
	if err != nil {
		f.T.Fatalf("%#v: %v", command, err)
	}
	if !results[0].Replayed {
		f.T.Fatalf("%#v: not replayed", command)
	}
	if after := f.AllEvents(); len(after) != len(before) {
		f.T.Fatalf("%#v: replayed, but it wrote %v", command, after[len(before):])
	}
	return results[0]
}

// Refused applies commands that have to be refused with an error that matches
// want, carries a message, gives no token away, and changes nothing.
func (f *Fixture) Refused(want error, commands ...dibs.Command) *dibs.Error {
	f.T.Helper()
	before := f.Dump()
	_, err := f.Apply(f.Ctx, commands...)
	e := f.CheckError(err, want)
	if after := f.Dump(); !reflect.DeepEqual(before, after) {
		f.T.Fatalf("%#v was refused, but it changed something:\n%v\n%v", commands, before, after)
	}
	return e
}

// CheckError checks an error of the registry: its sentinel, and that a person can
// use it.
func (f *Fixture) CheckError(err, want error) *dibs.Error {
	f.T.Helper()
	if !errors.Is(err, want) {
		f.T.Fatalf("got error %v, want %v", err, want)
	}
	var e *dibs.Error
	if !errors.As(err, &e) {
		f.T.Fatalf("%v is a %T, not a *dibs.Error", err, err)
	}
	if len(e.Message) < 10 {
		f.T.Errorf("the message %q does not say what is wrong", e.Message)
	}
	for _, secret := range []string{Token1, Token2} {
		if strings.Contains(err.Error(), secret) {
			f.T.Errorf("the error %q gives a token away", err)
		}
	}
	return e
}

// stored is everything that a registry has.
type stored struct {
	Records []dibs.Record
	Events  []dibs.Event
}

func (f *Fixture) Dump() stored {
	f.T.Helper()
	all := stored{Events: f.AllEvents()}
	for _, kind := range []dibs.Kind{dibs.KindName, dibs.KindFloor, dibs.KindQuota, dibs.KindSkeleton, dibs.KindHash} {
		records, err := f.Engine.List(f.Ctx, dibs.ListQuery{Kind: kind, Limit: 10_000})
		if err != nil {
			f.T.Fatal(err)
		}
		all.Records = append(all.Records, records...)
	}
	return all
}

func (f *Fixture) AllEvents() []dibs.Event {
	f.T.Helper()
	events, err := f.Engine.Events(f.Ctx, dibs.EventQuery{Limit: 100_000})
	if err != nil {
		f.T.Fatal(err)
	}
	return events
}

// history returns a name's events, oldest first. Read in pages they must be the same.
func (f *Fixture) HistoryOf(namespace, value string) []dibs.Event {
	f.T.Helper()
	whole, err := f.History(f.Ctx, namespace, value)
	if err != nil {
		f.T.Fatal(err)
	}
	for limit := 1; limit <= 3; limit++ {
		query := dibs.HistoryQuery{Namespace: namespace, Value: value, Limit: limit}
		var events []dibs.Event
		for first := true; first || query.Cursor != ""; first = false {
			page, err := f.HistoryPage(f.Ctx, query)
			if err != nil {
				f.T.Fatal(err)
			}
			if len(page.Events) > limit || len(page.Events) < limit && page.Next != "" {
				f.T.Fatalf("a page of %d events has %d, and the next begins at %q", limit, len(page.Events), page.Next)
			}
			events = append(page.Events, events...)
			query.Cursor = page.Next
		}
		if !reflect.DeepEqual(events, whole) {
			f.T.Fatalf("in pages of %d the history of %s:%s is\n%+v\nand as a whole\n%+v", limit, namespace, value, events, whole)
		}
	}
	return whole
}

// kinds returns the kinds of a name's events, oldest first.
func (f *Fixture) KindsOf(namespace, value string) []dibs.EventKind {
	f.T.Helper()
	events := f.HistoryOf(namespace, value)
	kinds := make([]dibs.EventKind, len(events))
	for i, e := range events {
		kinds[i] = e.Kind
	}
	return kinds
}

// name returns a name that has to have a row.
func (f *Fixture) NameOf(namespace, value string) dibs.Name {
	f.T.Helper()
	n, err := f.Get(f.Ctx, dibs.Lookup{Namespace: namespace, Value: value})
	if err != nil {
		f.T.Fatal(err)
	}
	return n
}

// WantState checks what a name is now; a name without a row is free.
func (f *Fixture) WantState(namespace, value string, want dibs.State) {
	f.T.Helper()
	n, err := f.Get(f.Ctx, dibs.Lookup{Namespace: namespace, Value: value})
	if errors.Is(err, dibs.ErrNotFound) {
		n.State, err = dibs.Free, nil
	}
	if err != nil {
		f.T.Fatal(err)
	}
	if n.State != want {
		f.T.Fatalf("%s:%s is %s, want %s", namespace, value, n.State, want)
	}
}

// WantLeads checks where a name leads: a status, and for a redirect the name.
func (f *Fixture) WantLeads(namespace, value string, status int, to string) {
	f.T.Helper()
	r, err := f.Resolve(f.Ctx, namespace, value)
	if err != nil {
		f.T.Fatal(err)
	}
	var got string
	if r.To != nil {
		got = r.To.Canonical
	}
	if r.Status != status || got != to {
		f.T.Fatalf("%s:%s leads to %d %q, want %d %q", namespace, value, r.Status, got, status, to)
	}
}

func (f *Fixture) SweepAll() dibs.SweepReport {
	f.T.Helper()
	report, err := f.Sweep(f.Ctx, 1000)
	if err != nil {
		f.T.Fatal(err)
	}
	return report
}

// version returns an entity's version.
func (f *Fixture) VersionOf(entity dibs.Entity) uint64 {
	f.T.Helper()
	info, err := f.Entity(f.Ctx, "", entity)
	if err != nil {
		f.T.Fatal(err)
	}
	return info.Version
}

// claim, rename and reserve are the commands that most tests set the stage with.

func Claim(namespace, value string, entity dibs.Entity) dibs.Claim {
	return dibs.Claim{Namespace: namespace, Value: value, Entity: entity}
}

func Rename(namespace, value string, entity dibs.Entity) dibs.Rename {
	return dibs.Rename{Namespace: namespace, Value: value, Entity: entity}
}

func Reserve(namespace, value, token string) dibs.Reserve {
	return dibs.Reserve{Namespace: namespace, Value: value, Token: token}
}

func Decommission(namespace, value string, entity dibs.Entity) dibs.Decommission {
	return dibs.Decommission{Namespace: namespace, Value: value, Entity: entity}
}

// Alice is a person of whom nothing is to be left. Whatever is hers alone has "alice" in it.
var Alice = dibs.Entity{Type: "user", ID: "alice-17"}

func AlwaysUnknown(context.Context, dibs.SuspectHold) (dibs.Verdict, error) { return dibs.Unknown, nil }

// floors returns the floor documents that a registry has.
func (f *Fixture) NamespaceRecords() []*dibs.Document {
	f.T.Helper()
	records, err := f.Engine.List(f.Ctx, dibs.ListQuery{Kind: dibs.KindFloor, Limit: 100})
	if err != nil {
		f.T.Fatal(err)
	}
	var floors []*dibs.Document
	for _, r := range records {
		floors = append(floors, r.(*dibs.Document))
	}
	return floors
}

func (f *Fixture) MustForget(request dibs.ForgetRequest) dibs.Forgetting {
	f.T.Helper()
	report, err := f.Forget(f.Ctx, request)
	if err != nil {
		f.T.Fatalf("%+v: %v", request, err)
	}
	return report
}

// WantNoTrace fails if the store has a text anywhere.
func (f *Fixture) WantNoTrace(text string) {
	f.T.Helper()
	for _, trace := range f.Traces(text) {
		f.T.Errorf("there is still %s", trace)
	}
}

// Traces returns all that the store has of a text.
func (f *Fixture) Traces(text string) (found []string) {
	f.T.Helper()
	all := f.Dump()
	entities, err := f.Engine.Load(f.Ctx, []dibs.Ref{
		{Kind: dibs.KindEntity, ID: dibs.EntityID("", Alice)}, {Kind: dibs.KindEntity, ID: dibs.EntityID("", User2)},
	})
	if err != nil {
		f.T.Fatal(err)
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
			f.T.Fatal(err)
		}
		if strings.Contains(strings.ToLower(string(written)), text) {
			found = append(found, string(written))
		}
	}
	return found
}

// AliceLives gives alice names in every way there is. Two that she had are user2's in
// the end, under names that are not hers.
func (f *Fixture) AliceLives() {
	f.T.Helper()
	hers := f.ActAs("shop for alice", 0)
	reserved := func(value string) dibs.Reserve {
		return dibs.Reserve{
			Namespace: "slug", Value: value, Token: Token1, Entity: Alice,
			CorrelationID: "order of alice", Meta: map[string]string{"by": "Alice"},
		}
	}
	hold := hers.One(reserved("Alice"))
	hers.Must(dibs.Confirm{ID: hold.ID, Token: Token1, Entity: Alice})
	f.Must(Rename("slug", "alice-2", Alice), dibs.Archive{Entity: Alice}, dibs.Restore{Entity: Alice})
	f.Must(Claim("email", "alice@home", Alice), Claim("email", "alice@work", Alice), Decommission("email", "alice@home", Alice))

	// One that she had, and somebody else took.
	f.Must(Rename("slug", "first", Alice), Decommission("slug", "first", Alice), Claim("slug", "first", User2))
	// One that she gave away, with the details of her hold on it.
	given := hers.One(reserved("given"))
	hers.Must(dibs.Confirm{ID: given.ID, Token: Token1, Entity: Alice})
	f.Must(Decommission("slug", "first", User2), dibs.Transfer{Namespace: "slug", Value: "given", From: Alice, To: User2})
	// One that she exchanged.
	f.Must(Claim("slug", "alice-3", User3), Rename("slug", "swapped", Alice))
	f.Must(dibs.Swap{Namespace: "slug", A: dibs.Named{Value: "swapped", Entity: Alice}, B: dibs.Named{Value: "alice-3", Entity: User3}})
	// Holds for her: one is over, one is not.
	hers.Must(reserved("alice-was-here"), dibs.Release{ID: dibs.NameID("slug", "alice-was-here"), Token: Token1})
	hers.Must(reserved("alice-is-here"))
}

func (f *Fixture) WantFirstHeldBy(entity dibs.Entity) {
	f.T.Helper()
	events, err := f.History(f.Ctx, "slug", "first")
	if err != nil {
		f.T.Fatal(err)
	}
	if !events[0].Entity.IsZero() || events[2].Entity != entity || events[3].Entity != entity {
		f.T.Errorf("the history is %+v", events)
	}
}

func (f *Fixture) Confusable(commands ...dibs.Command) {
	f.T.Helper()
	e := f.Refused(dibs.ErrNameTaken, commands...)
	if e.Reason != dibs.ReasonConfusable {
		f.T.Errorf("%s: the reason is %q", e.Message, e.Reason)
	}
}

func (f *Fixture) CheckOne(namespace, value string) dibs.Availability {
	f.T.Helper()
	answers, err := f.Check(f.Ctx, dibs.CheckRequest{Namespace: namespace, Values: []string{value}, Suggest: 3})
	if err != nil {
		f.T.Fatal(err)
	}
	return answers[0]
}

func (f *Fixture) Skeletons() (docs []*dibs.Document) {
	f.T.Helper()
	records, err := f.Engine.List(f.Ctx, dibs.ListQuery{Kind: dibs.KindSkeleton, Limit: 100})
	if err != nil {
		f.T.Fatal(err)
	}
	for _, r := range records {
		docs = append(docs, r.(*dibs.Document))
	}
	return docs
}

func (f *Fixture) ForgetCell(request dibs.ForgetRequest) string {
	report, err := f.Forget(f.Ctx, request)
	if e, ok := errors.AsType[*dibs.Error](err); ok {
		return CellCodes[e.Code]
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

// WantTombstone demands that x is forgotten, and kept back no less than before.
func (f *Fixture) WantTombstone(namespace string, before dibs.Name, want dibs.State) {
	f.T.Helper()
	n := f.NameOf(namespace, "x")
	if n.State != want || n.Value != "" || n.Canonical != "" || n.Epoch != before.Epoch || !n.Entity.IsZero() || n.Principal != "" {
		f.T.Errorf("the tombstone is %+v", n)
	}
	if before.State == dibs.Quarantined && !n.Until.Equal(before.Until) {
		f.T.Errorf("it is kept back until %s, it was until %s", n.Until, before.Until)
	}
	if kinds := f.KindsOf(namespace, "x"); !slices.Equal(kinds, []dibs.EventKind{dibs.EventForgotten}) {
		f.T.Errorf("its history is %v", kinds)
	}
	f.Refused(dibs.ErrNotFound, dibs.Release{ID: n.ID, Token: Token1})
	f.Refused(dibs.ErrNotFound, dibs.Settle{ID: n.ID, Verdict: dibs.Absent})
	for _, entity := range []dibs.Entity{{}, User1, User3} {
		r := ReserveFor(namespace, Token2, entity)
		if want == dibs.Quarantined {
			f.Refused(dibs.ErrNameTaken, r)
			continue
		}
		hold := f.One(r)
		if hold.Epoch <= n.Epoch || hold.Canonical != "x" {
			f.T.Errorf("it was taken as %+v", hold)
		}
		n.Epoch = hold.Epoch
		f.Must(dibs.Release{ID: hold.ID, Token: Token2})
		f.MustForget(dibs.ForgetRequest{Namespace: namespace, Value: "x"})
	}
}

// list returns the keys of all pages.
func (f *Fixture) ListNames(query dibs.NamesQuery) string {
	f.T.Helper()
	keys := []string{}
	for {
		page, err := f.List(f.Ctx, query)
		if err != nil {
			f.T.Fatal(err)
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

func (f *Fixture) MustRecanonicalize(dryRun bool) dibs.Recanonicalization {
	f.T.Helper()
	report, err := f.Recanonicalize(f.Ctx, dibs.RecanonicalizeRequest{Namespace: "slug", DryRun: dryRun})
	if err != nil {
		f.T.Fatal(err)
	}
	return report
}

// What the entity's record says is what its rows say.
func (f *Fixture) WantActive(entity dibs.Entity, want ...string) {
	f.T.Helper()
	loaded, err := f.Engine.Load(f.Ctx, []dibs.Ref{{Kind: dibs.KindEntity, ID: dibs.EntityID("", entity)}})
	if err != nil || len(loaded.Records) != 1 {
		f.T.Fatal(err, len(loaded.Records))
	}
	var noted []dibs.ID
	for _, id := range loaded.Records[0].(*dibs.EntityRecord).Active {
		noted = append(noted, id)
	}
	info, err := f.Entity(f.Ctx, "", entity)
	if err != nil {
		f.T.Fatal(err)
	}
	var active []string
	for _, n := range info.Names {
		if n.State == dibs.Active {
			active = append(active, n.Canonical)
			if !slices.Contains(noted, n.ID) {
				f.T.Errorf("%s is active, but its entity does not know", n.Canonical)
			}
		}
	}
	if len(noted) != len(active) || !slices.Equal(active, want) {
		f.T.Errorf("%s has the active names %q, want %q; its record notes %d", entity, active, want, len(noted))
	}
}

// TokensOf is how many tokens of earlier holds the row of a slug has.
func (f *Fixture) TokensOf(value string) int {
	f.T.Helper()
	found, err := f.Engine.Load(f.Ctx, []dibs.Ref{{Kind: dibs.KindName, ID: dibs.NameID("slug", value)}})
	if err != nil || len(found.Records) != 1 {
		f.T.Fatalf("%+v, %v", found, err)
	}
	return len(found.Records[0].(*dibs.NameRecord).Spent)
}

// LastRev is the revision of a name's newest event.
func (f *Fixture) LastRev(ns, value string) uint64 {
	f.T.Helper()
	events, err := f.History(f.Ctx, ns, value)
	if err != nil || len(events) == 0 {
		f.T.Fatal(err, "no events")
	}
	return events[len(events)-1].Rev
}

func WantKinds(t *testing.T, f *Fixture, ns, value string, want ...dibs.EventKind) {
	t.Helper()
	if got := f.KindsOf(ns, value); !slices.Equal(got, want) {
		t.Errorf("the history of %s is %v, want %v", value, got, want)
	}
}
