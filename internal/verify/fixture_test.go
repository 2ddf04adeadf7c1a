package verify_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/core"
	"github.com/calldibs/dibs/internal/snapshot"
	"github.com/calldibs/dibs/internal/verify"
	"github.com/calldibs/dibs/profile"
)

// config has a namespace for each kind of record that the registry keeps.
func config() dibs.Config {
	unknown := func(context.Context, dibs.SuspectHold) (dibs.Verdict, error) { return dibs.Unknown, nil }
	return dibs.Config{SweepEvery: -1, Policies: map[string]dibs.Policy{
		"slug":     {MaxHolds: 5, Quarantine: time.Hour, AliasRetention: 24 * time.Hour},
		"username": {Profile: profile.Username{}, Skeleton: profile.Confusables},
		"email":    {Profile: profile.Email{}, Blind: []dibs.BlindKey{{ID: "k1", Secret: []byte(strings.Repeat("s", 32))}}},
		"tag":      {ManyPerEntity: true},
		"order":    {Witness: unknown, MaxHolds: 5},
	}}
}

func user(id string) dibs.Entity { return dibs.Entity{Type: "user", ID: id} }

// token is that of every hold.
const token = "token-of-the-fixture"

// live lives through everything that can happen to names, on any engine. Names that are held stay so
// for an hour.
func live(t testing.TB, registry *dibs.Registry) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	registry = registry.As(dibs.Principal{Name: "robot", Rights: dibs.ActForOthers | dibs.Operate | dibs.OverrideReserved})
	claim := func(namespace, value, id string) {
		t.Helper()
		_, err := registry.Claim(ctx, dibs.Claim{Namespace: namespace, Value: value, Entity: user(id)})
		must(err)
	}
	hold := func(namespace, value string, ttl time.Duration) dibs.Hold {
		t.Helper()
		h, err := registry.Reserve(ctx, dibs.Reserve{Namespace: namespace, Value: value, Token: token, TTL: dibs.For(ttl)})
		must(err)
		return h
	}
	rename := func(namespace, value, from, id string) {
		t.Helper()
		_, err := registry.Rename(ctx, dibs.Rename{Namespace: namespace, Value: value, From: from, Entity: user(id)})
		must(err)
	}

	claim("slug", "ann", "ann")
	claim("acme.slug", "ann", "ann")
	claim("slug", "old-bob", "bob")
	rename("slug", "bob", "", "bob")
	rename("slug", "old-bob", "", "bob") // and back
	rename("slug", "bob", "", "bob")

	held := hold("slug", "confirmed", time.Hour)
	_, err := registry.Extend(ctx, dibs.Extend{ID: held.ID, Token: token, TTL: dibs.For(2 * time.Hour)})
	must(err)
	_, err = registry.Confirm(ctx, dibs.Confirm{ID: held.ID, Token: token, Entity: user("carl")})
	must(err)
	_, err = registry.Release(ctx, dibs.Release{ID: hold("slug", "released", time.Hour).ID, Token: token})
	must(err)
	hold("slug", "held", time.Hour)
	hold("order", "held", time.Hour)
	hold("order", "lapsed", time.Millisecond*1000)
	hold("slug", "lapsed", time.Millisecond*1000)

	claim("slug", "given-up", "dora")
	_, err = registry.Decommission(ctx, dibs.Decommission{Namespace: "slug", Value: "given-up", Entity: user("dora")})
	must(err)
	claim("slug", "passed-on", "emil")
	_, err = registry.Transfer(ctx, dibs.Transfer{Namespace: "slug", Value: "passed-on", From: user("emil"), To: user("fay")})
	must(err)
	claim("slug", "gus", "gus")
	claim("slug", "hal", "hal")
	_, err = registry.Swap(ctx, dibs.Swap{Namespace: "slug", A: dibs.Named{Value: "gus", Entity: user("gus")}, B: dibs.Named{Value: "hal", Entity: user("hal")}})
	must(err)
	claim("slug", "archived", "ida")
	_, err = registry.Archive(ctx, dibs.Archive{Entity: user("ida")})
	must(err)
	claim("slug", "restored", "jan")
	_, err = registry.Archive(ctx, dibs.Archive{Entity: user("jan")})
	must(err)
	_, err = registry.Restore(ctx, dibs.Restore{Entity: user("jan")})
	must(err)
	claim("slug", "deleted", "kim")
	_, err = registry.Delete(ctx, dibs.Delete{Entity: user("kim")})
	must(err)
	claim("slug", "again", "lea")
	_, err = registry.Delete(ctx, dibs.Delete{Entity: user("lea")})
	must(err)
	claim("slug", "anew", "lea")

	claim("tag", "red", "ann")
	claim("tag", "blue", "ann")
	rename("tag", "green", "blue", "ann")
	claim("username", "Ann", "ann")
	claim("username", "bob_b", "bob")
	claim("email", "ann@example.com", "ann")
	claim("email", "bob@example.com", "bob")
	claim("email", "gone@example.com", "mia")
	claim("username", "mia", "mia")
	_, err = registry.Forget(ctx, dibs.ForgetRequest{Entity: user("mia")})
	must(err)
	for _, id := range []string{"oda", "pia"} {
		claim("slug", id+"-once", id)
		_, err = registry.Delete(ctx, dibs.Delete{Entity: user(id)})
		must(err)
		claim("slug", id+"-again", id)
		_, err = registry.Decommission(ctx, dibs.Decommission{Namespace: "slug", Value: id + "-again", Entity: user(id)})
		must(err)
		_, err = registry.Forget(ctx, dibs.ForgetRequest{Namespace: "slug", Value: id + "-again"})
		must(err)
	}
	_, err = registry.Archive(ctx, dibs.Archive{Entity: user("pia")})
	must(err)
	_, err = registry.Import(ctx, dibs.Import{Namespace: "slug", Value: "imported", Entity: user("nia"), Since: time.UnixMilli(1_600_000_000_000)})
	must(err)
	_, err = registry.Import(ctx, dibs.Import{Namespace: "slug", Value: "old-nia", AliasOf: "imported", Entity: user("nia")})
	must(err)
}

// read reads a moment of a store into memory.
func read(t testing.TB, store dibs.Store) *planted {
	t.Helper()
	view, err := snapshot.Take(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = view.Close() }()
	p := &planted{t: t, now: view.Now(), records: make(map[snapshot.Table][]dibs.Record)}
	for _, table := range snapshot.Tables {
		for record, err := range view.Records(t.Context(), table) {
			if err != nil {
				t.Fatal(err)
			}
			p.records[table] = append(p.records[table], record)
		}
	}
	for event, err := range view.Events(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		p.events = append(p.events, event)
	}
	if counter, ok := view.(verify.Counter); ok {
		if p.counts, err = counter.Counts(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// planted is a moment in memory, into which damages are planted.
type planted struct {
	t       testing.TB
	now     dibs.Instant
	records map[snapshot.Table][]dibs.Record
	events  []dibs.Event
	counts  []dibs.NameCount

	// What the engine reports as damaged: a record or an event, as it is in the moment, and the file.
	broken []any
	file   []string
}

func (p *planted) CheckFile(context.Context) ([]string, error) { return p.file, nil }

// damageOf returns the error that comes with a record or event.
func (p *planted) damageOf(element any, row string) error {
	if slices.Contains(p.broken, element) {
		return &snapshot.DamageError{Row: row, Err: errors.New("wrong checksum")}
	}
	return nil
}

func (p *planted) Now() dibs.Instant { return p.now }

func (p *planted) Records(_ context.Context, table snapshot.Table) iter.Seq2[dibs.Record, error] {
	return func(yield func(dibs.Record, error) bool) {
		for i, record := range p.records[table] {
			if !yield(record, p.damageOf(record, fmt.Sprintf("row %d", i))) {
				return
			}
		}
	}
}

func (p *planted) Events(context.Context, dibs.Cursor) iter.Seq2[dibs.Event, error] {
	return func(yield func(dibs.Event, error) bool) {
		for i := range p.events {
			if event := &p.events[i]; !yield(*event, p.damageOf(event, "event "+string(event.Cursor))) {
				return
			}
		}
	}
}

func (p *planted) Counts(context.Context) ([]dibs.NameCount, error) { return p.counts, nil }

// name returns the row of a name.
func (p *planted) name(namespace, canonical string) *dibs.NameRecord {
	p.t.Helper()
	for _, r := range p.records[snapshot.Names] {
		if n := r.(*dibs.NameRecord); n.Namespace == namespace && (n.Canonical == canonical || strings.HasPrefix(n.Canonical, canonical)) {
			return n
		}
	}
	p.t.Fatalf("no row of %s:%s", namespace, canonical)
	return nil
}

func (p *planted) entity(id string) *dibs.EntityRecord {
	p.t.Helper()
	for _, r := range p.records[snapshot.Entities] {
		if e := r.(*dibs.EntityRecord); e.Entity == user(id) && e.Scope == "" {
			return e
		}
	}
	p.t.Fatalf("no row of %s", user(id))
	return nil
}

// document returns the first document of a kind whose label begins with a text.
func (p *planted) document(kind dibs.Kind, label string) *dibs.Document {
	p.t.Helper()
	for _, r := range p.records[snapshot.Documents] {
		if d := r.(*dibs.Document); d.Kind == kind && strings.HasPrefix(d.Label, label) {
			return d
		}
	}
	p.t.Fatalf("no document %s %s", kind, label)
	return nil
}

// remove removes a record.
func (p *planted) remove(record dibs.Record) {
	table := snapshot.TableOf(record.Ref().Kind)
	p.records[table] = slices.DeleteFunc(p.records[table], func(r dibs.Record) bool { return r == record })
}

// event returns the last event of a kind of a name.
func (p *planted) event(namespace, canonical string, kind dibs.EventKind) *dibs.Event {
	p.t.Helper()
	for i := range slices.Backward(p.events) {
		if e := &p.events[i]; e.Namespace == namespace && e.Canonical == canonical && e.Kind == kind {
			return e
		}
	}
	p.t.Fatalf("no event %s of %s:%s", kind, namespace, canonical)
	return nil
}

func (p *planted) removeEvents(remove func(*dibs.Event) bool) {
	p.events = slices.DeleteFunc(p.events, func(e dibs.Event) bool { return remove(&e) })
}

// findings checks a moment and returns each finding as "check where".
func findings(t testing.TB, moment verify.Moment, options verify.Options) (list []string, report verify.Report) {
	t.Helper()
	cfg := config()
	options.Policies, options.Default = cfg.Policies, cfg.Default
	var all []verify.Finding
	options.Found = func(f verify.Finding) error {
		all = append(all, f)
		list = append(list, f.Check+" "+f.Where())
		return nil
	}
	report, err := verify.Store(t.Context(), moment, options)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		t.Logf("%s: %s: %s (found %q, expected %q, record %s)", f.Check, f.Where(), f.Problem, f.Found, f.Expected, f.Record)
		if f.Problem == "" || f.Advice == "" || f.Where() == "" {
			t.Errorf("a finding does not say what is wrong, where, or what to do: %+v", f)
		}
	}
	return list, report
}

// open opens a registry on a store that stays open after it.
func open(t testing.TB, store dibs.Store) *dibs.Registry {
	t.Helper()
	registry, err := core.Open(store, config())
	if err != nil {
		t.Fatal(err)
	}
	return registry
}
