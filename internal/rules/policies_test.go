package rules_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

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
