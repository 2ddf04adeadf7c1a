package rules_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/core"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/memstore"
)

func TestBadPolicies(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for _, c := range []struct {
		says   string
		policy dibs.Policy
	}{
		{"MinTTL is -1s", dibs.Policy{MinTTL: -time.Second}},
		{"MinTTL is 1µs", dibs.Policy{MinTTL: time.Microsecond}},
		{"whole milliseconds", dibs.Policy{MinTTL: ms + 1}},
		{"DefaultTTL is 1s", dibs.Policy{MinTTL: 2 * time.Second, DefaultTTL: time.Second}},
		{"DefaultTTL is -1s", dibs.Policy{DefaultTTL: -time.Second, MinTTL: ms}},
		{"MaxTTL is 1m0s", dibs.Policy{DefaultTTL: time.Hour, MaxTTL: time.Minute}},
		{"MaxTTL is 1m0s", dibs.Policy{MinTTL: time.Hour, MaxTTL: time.Minute}},
		{"MaxTTL is -1m0s", dibs.Policy{MaxTTL: -time.Minute, DefaultTTL: time.Second}},
		{"MaxHold is 1m0s", dibs.Policy{DefaultTTL: time.Hour, MaxHold: time.Minute}},
		{"HoldHistory is -1s", dibs.Policy{HoldHistory: -time.Second}},
		{"HoldHistory is 1µs", dibs.Policy{HoldHistory: time.Microsecond}},
		{"HoldHistory is 9.999s", dibs.Policy{HoldHistory: dibs.MinHoldHistory - time.Millisecond}},
		{"Quarantine is -1s", dibs.Policy{Quarantine: -time.Second}},
		{"Quarantine is 1ns", dibs.Policy{Quarantine: 1}},
		{"AliasRetention is -1s", dibs.Policy{AliasRetention: -time.Second}},
		{"MaxHolds is -1", dibs.Policy{MaxHolds: -1}},
		{"MaxHolds is 10001", dibs.Policy{MaxHolds: 10_001}},
		{"RedirectStatus is 303", dibs.Policy{RedirectStatus: 303}},
		{"ArchivedStatus is 403", dibs.Policy{ArchivedStatus: 403}},
		{"Blind", dibs.Policy{Blind: []dibs.BlindKey{{ID: "k1", Secret: []byte("too short")}}}},
		{"Blind", dibs.Policy{Blind: []dibs.BlindKey{{ID: "K1", Secret: make([]byte, 32)}}}},
		{"Blind", dibs.Policy{Blind: []dibs.BlindKey{{ID: "k1", Secret: make([]byte, 32)}, {ID: "k1", Secret: make([]byte, 32)}}}},
	} {
		for where, cfg := range map[string]dibs.Config{
			`"slug"`:  {Policies: map[string]dibs.Policy{"slug": c.policy}},
			"default": {Default: c.policy},
		} {
			_, err := core.Open(memstore.New(memstore.Config{}), cfg)
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), where) {
				t.Errorf("%s: %v does not say %q", where, err, c.says)
			}
		}
	}
	_, err := core.Open(memstore.New(memstore.Config{}), dibs.Config{Policies: map[string]dibs.Policy{"Slug": {}}})
	if err == nil || !strings.Contains(err.Error(), "not well-formed") {
		t.Errorf("a policy for a malformed namespace: %v", err)
	}
	for _, cfg := range []dibs.Config{
		{QueueSize: -1}, {MaxBatch: -1}, {Writers: -1}, {PollEvery: -1}, {ConflictHistory: -1},
	} {
		if _, err := core.Open(memstore.New(memstore.Config{}), cfg); err == nil || !strings.Contains(err.Error(), "negative") {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}

func TestGoodPolicies(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	f := coretest.NewFixture(t, map[string]dibs.Policy{
		"least": {MinTTL: ms, DefaultTTL: ms, MaxTTL: ms, MaxHold: ms, HoldHistory: dibs.MinHoldHistory, MaxHolds: 1},
		"most":  {MaxHolds: 10_000, RedirectStatus: 308, ArchivedStatus: 410, MaxTTL: 48 * time.Hour},
		"min":   {MinTTL: time.Hour},
		"max":   {MaxTTL: time.Minute},
		"short": {MaxTTL: 100 * ms},
		"hold":  {MaxHold: time.Minute},
		"found": {RedirectStatus: 302},
		"temp":  {RedirectStatus: 307},
	})
	// A default stays within the bounds that are set.
	for ns, want := range map[string]time.Duration{
		"least": ms, "most": dibs.DefaultTTL, "min": time.Hour, "max": time.Minute, "short": 100 * ms,
		"hold": time.Minute, "other": dibs.DefaultTTL,
	} {
		if n := f.One(coretest.Reserve(ns, "x", coretest.Token1)); n.Remaining != want {
			t.Errorf("%s: a hold of %v, want %v", ns, n.Remaining, want)
		}
	}
	// MaxHold bounds the ttl of one hold as well, and grows with MaxTTL.
	f.Refused(dibs.ErrTTLTooLong, dibs.Reserve{Namespace: "hold", Value: "y", TTL: dibs.For(time.Minute + ms)})
	f.Must(dibs.Reserve{Namespace: "most", Value: "y", TTL: dibs.For(48 * time.Hour)})
	f.Refused(dibs.ErrInvalidTTL, dibs.Reserve{Namespace: "other", Value: "y", TTL: dibs.For(time.Second - ms)})
	f.Must(dibs.Reserve{Namespace: "short", Value: "y", TTL: dibs.For(100 * ms)})

	for ns, status := range map[string]int{"most": 308, "found": 302, "temp": 307, "other": 301} {
		f.Must(coretest.Claim(ns, "old", coretest.User1))
		f.Must(coretest.Rename(ns, "new", coretest.User1))
		f.WantResolve(ns, "old", status, "new")
	}
	f.Must(dibs.Archive{Entity: coretest.User1})
	f.WantResolve("most", "new", 410, "")
	f.WantResolve("most", "old", 410, "")
	f.WantResolve("other", "new", 404, "")
	f.WantResolve("other", "old", 404, "")
}

func TestPolicyLookup(t *testing.T) {
	t.Parallel()
	c := coretest.NewClock()
	store := memstore.New(memstore.Config{Now: c.Now})
	r := coretest.MustOpen(t, store, dibs.Config{
		Policies: map[string]dibs.Policy{
			"acme.slug": {DefaultTTL: time.Minute},
			"slug":      {DefaultTTL: 2 * time.Minute},
			"acme":      {DefaultTTL: 4 * time.Minute},
		},
		Default: dibs.Policy{DefaultTTL: 3 * time.Minute},
	})
	for ns, want := range map[string]time.Duration{
		"acme.slug":    time.Minute,     // the whole namespace
		"slug":         2 * time.Minute, // the same
		"globex.slug":  2 * time.Minute, // its type
		"eu.acme.slug": 2 * time.Minute, // its type: the end of a scope does not count as a namespace
		"acme.email":   3 * time.Minute, // the default: a scope does not count as a type
		"email":        3 * time.Minute,
	} {
		h, err := r.Reserve(t.Context(), coretest.Reserve(ns, "x", ""))
		if err != nil || h.Remaining != want {
			t.Errorf("%s: a hold of %v, want %v (%v)", ns, h.Remaining, want, err)
		}
	}
}

// A row keeps the terms of the policy that it was written with. They also apply in a process with
// other policies.
func TestRowsKeepTheirTerms(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{
		"brief":   {AliasRetention: time.Hour, Quarantine: time.Hour, HoldHistory: time.Hour},
		"watched": matrixPolicies()[watched],
	})
	g := f.Reopened(nil) // without quarantine, retention and witness
	f.Must(coretest.Claim("brief", "old", coretest.User1))
	f.Must(coretest.Rename("brief", "new", coretest.User1))
	f.Must(coretest.Reserve("brief", "held", coretest.Token1), coretest.Reserve("watched", "held", coretest.Token1))

	f.Clock.Advance(time.Hour)
	g.SweepAll()
	g.WantState("brief", "old", dibs.Quarantined)
	g.WantState("brief", "held", dibs.Free)
	g.WantState("watched", "held", dibs.Suspect)
	if doubt := g.NameOf("watched", "held").Doubt; !strings.Contains(doubt, "no witness") {
		t.Errorf("the doubt is %q", doubt)
	}
	f.Clock.Advance(time.Hour)
	g.SweepAll()
	g.WantState("brief", "old", dibs.Free)
	if _, err := g.Get(g.Ctx, dibs.Lookup{Namespace: "brief", Value: "held"}); err == nil {
		t.Error("the row of a hold that was never confirmed is not purged after HoldHistory")
	}

	// A row that was written without terms stays without them.
	g.Must(coretest.Claim("brief", "eternal", coretest.User2))
	g.Must(coretest.Rename("brief", "today", coretest.User2))
	g.Must(coretest.Reserve("watched", "plain", coretest.Token1))
	f.Clock.Advance(3 * time.Hour)
	f.SweepAll()
	f.WantState("brief", "eternal", dibs.Alias)
	f.WantState("watched", "plain", dibs.Free)
}

// SetPolicies replaces all policies or none.
func TestSetPolicies(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {ReservedWords: dibs.WordList("admin")}})
	f.Refused(dibs.ErrReservedWord, coretest.Claim("slug", "admin", coretest.User1))
	if err := f.SetPolicies(map[string]dibs.Policy{"slug": {MaxHolds: -1}}, dibs.Policy{}); err == nil {
		t.Error("an invalid policy is accepted")
	}
	f.Refused(dibs.ErrReservedWord, coretest.Claim("slug", "admin", coretest.User1))
	if err := f.SetPolicies(map[string]dibs.Policy{"slug": {Quarantine: time.Hour}}, dibs.Policy{}); err != nil {
		t.Fatal(err)
	}
	f.Must(coretest.Claim("slug", "admin", coretest.User1), coretest.Decommission("slug", "admin", coretest.User1))
	f.WantState("slug", "admin", dibs.Quarantined)
	// The rules of a namespace in use do not change with its policy.
	if err := f.SetPolicies(map[string]dibs.Policy{"slug": {Profile: coretest.Lower{}}}, dibs.Policy{}); err != nil {
		t.Fatal(err)
	}
	f.Refused(dibs.ErrUnavailable, coretest.Claim("slug", "new", coretest.User2))
}

// Aliases still redirect when ManyPerEntity changes.
func TestRedirectsSurviveAChangeOfPolicy(t *testing.T) {
	t.Parallel()
	for _, many := range []bool{false, true} {
		f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {ManyPerEntity: many}})
		f.Must(coretest.Claim("slug", "a", coretest.User1), dibs.Rename{Namespace: "slug", Entity: coretest.User1, From: "a", Value: "b"})
		g := f.Reopened(map[string]dibs.Policy{"slug": {ManyPerEntity: !many}})
		g.Must(dibs.Rename{Namespace: "slug", Entity: coretest.User1, From: "b", Value: "c"})
		g.WantResolve("slug", "a", 301, "c")
		g.WantResolve("slug", "b", 301, "c")
		g.Must(coretest.Decommission("slug", "c", coretest.User1))
		g.WantResolve("slug", "a", 410, "")
	}
}

// otherRules returns the namespaces that policies would put under other rules.
func otherRules(t *testing.T, reg *dibs.Registry, policies map[string]dibs.Policy, fallback dibs.Policy) (namespaces []string) {
	t.Helper()
	err := reg.CheckPolicies(t.Context(), policies, fallback)
	if err == nil {
		return nil
	}
	var other *dibs.OtherRulesError
	if !errors.As(err, &other) {
		t.Fatal(err)
	}
	for _, n := range other.Namespaces {
		namespaces = append(namespaces, n.Namespace)
	}
	return namespaces
}

// A registry takes names with the policies that CheckPolicies accepts, and not with others.
func TestCheckPoliciesAgreesWithReserve(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.ExactSlugs())
	f.Must(coretest.Claim("slug", "Alice", coretest.User1), coretest.Claim("acme.slug", "Alice", coretest.User1), coretest.Claim("other", "Alice", coretest.User1))
	for _, c := range []struct {
		name     string
		policies map[string]dibs.Policy
		fallback dibs.Policy
		want     []string
	}{
		{"the same", coretest.ExactSlugs(), dibs.Policy{}, nil},
		{"other times", map[string]dibs.Policy{"slug": {MaxHolds: 7}}, dibs.Policy{}, nil},
		{"a type", coretest.FoldedSlugs(), dibs.Policy{}, []string{"acme.slug", "slug"}},
		{"a namespace", map[string]dibs.Policy{"acme.slug": {Profile: coretest.Lower{}}}, dibs.Policy{}, []string{"acme.slug"}},
		{"all but one", map[string]dibs.Policy{"slug": {Profile: coretest.Lower{}}, "acme.slug": {}}, dibs.Policy{}, []string{"slug"}},
		{"the default", coretest.ExactSlugs(), dibs.Policy{Profile: coretest.Lower{}}, []string{"other"}},
		{"where no name is", map[string]dibs.Policy{"empty": {Profile: coretest.Lower{}}}, dibs.Policy{}, nil},
	} {
		before := f.Dump()
		got := otherRules(t, f.Registry, c.policies, c.fallback)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if !reflect.DeepEqual(f.Dump(), before) {
			t.Errorf("%s: CheckPolicies changed something", c.name)
		}
		g := f.Reopened(c.policies)
		if err := g.SetPolicies(c.policies, c.fallback); err != nil {
			t.Fatal(err)
		}
		for _, namespace := range []string{"slug", "acme.slug", "other"} {
			_, err := g.Reserve(g.Ctx, dibs.Reserve{Namespace: namespace, Value: strings.ReplaceAll(c.name, " ", "-")})
			if refused := errors.Is(err, dibs.ErrUnavailable); refused != slices.Contains(c.want, namespace) {
				t.Errorf("%s: Reserve in %s: %v", c.name, namespace, err)
			}
		}
	}
	if err := f.CheckPolicies(f.Ctx, map[string]dibs.Policy{"slug": {MaxTTL: -1}}, dibs.Policy{}); err == nil {
		t.Error("invalid policies are accepted")
	}
}

// While the rules change, processes with the old and with the new rules may start.
func TestCheckPoliciesDuringAChange(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.ExactSlugs())
	for i := range 600 { // more than a page, so that Progress is called
		f.Must(coretest.Claim("slug", fmt.Sprint("Name-", i), dibs.Entity{Type: "user", ID: fmt.Sprint(i)}))
	}
	g := f.Reopened(coretest.FoldedSlugs())
	ctx, cancel := context.WithCancel(f.Ctx)
	_, err := g.Recanonicalize(ctx, dibs.RecanonicalizeRequest{Namespace: "slug", Progress: func(int, int) { cancel() }})
	if err == nil {
		t.Fatal("it was not interrupted")
	}
	for name, policies := range map[string]map[string]dibs.Policy{"the old": coretest.ExactSlugs(), "the new": coretest.FoldedSlugs()} {
		if other := otherRules(t, f.Registry, policies, dibs.Policy{}); other != nil {
			t.Errorf("with %s rules: %q", name, other)
		}
	}
	if other := otherRules(t, f.Registry, map[string]dibs.Policy{"slug": {Profile: coretest.Lower{}, Skeleton: coretest.Digits{}}}, dibs.Policy{}); len(other) != 1 {
		t.Errorf("with any other rules: %q", other)
	}
	g.MustRecanonicalize(false)
	if other := otherRules(t, f.Registry, coretest.ExactSlugs(), dibs.Policy{}); len(other) != 1 {
		t.Errorf("with the old rules, after the change: %q", other)
	}
}

// The error lists a few of many namespaces, and counts the others.
func TestOtherRulesErrorIsShort(t *testing.T) {
	t.Parallel()
	reg := coretest.OpenMem(t, dibs.Config{})
	for i := range 1100 {
		if _, err := reg.Claim(t.Context(), coretest.Claim(fmt.Sprintf("t%d.slug", i), "alice", coretest.User1)); err != nil {
			t.Fatal(err)
		}
	}
	err := reg.CheckPolicies(t.Context(), coretest.FoldedSlugs(), dibs.Policy{})
	var other *dibs.OtherRulesError
	if !errors.As(err, &other) || len(other.Namespaces) != 1000 || other.More != 100 {
		t.Fatalf("%v", err)
	}
	if text := err.Error(); !strings.Contains(text, "and 1095 more") || len(text) > 600 {
		t.Error(text)
	}
}

// A namespace can neither become blind nor stop being blind, so the error advises neither.
func TestOtherRulesErrorOfBlindNamespaces(t *testing.T) {
	t.Parallel()
	blind := map[string]dibs.Policy{"email": {Blind: []dibs.BlindKey{{ID: "k1", Secret: []byte(strings.Repeat("k", 32))}}}}
	open := map[string]dibs.Policy{"email": {}}
	for name, c := range map[string][2]map[string]dibs.Policy{"no longer blind": {blind, open}, "blind": {open, blind}} {
		reg := coretest.OpenMem(t, dibs.Config{Policies: c[0]})
		if _, err := reg.Claim(t.Context(), coretest.Claim("email", "alice@home", coretest.User1)); err != nil {
			t.Fatal(err)
		}
		err := reg.CheckPolicies(t.Context(), c[1], dibs.Policy{})
		other, ok := errors.AsType[*dibs.OtherRulesError](err)
		if !ok || !other.Final() || strings.Contains(err.Error(), "Recanonicalize") || !strings.Contains(err.Error(), "restore blind and its keys") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
