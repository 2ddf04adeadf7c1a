package access_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/core"
	"github.com/calldibs/dibs/memstore"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	read, everywhere := []access.Verb{access.Read}, []string{"*"}
	for name, c := range map[string]struct {
		grant access.Grant
		want  string
	}{
		"empty":            {access.Grant{}, "a grant needs a verb: a group, all, hold, operate, own, read, watch"},
		"no verb":          {access.Grant{Namespaces: everywhere}, "a grant needs a verb"},
		"no namespace":     {access.Grant{Verbs: read}, `a grant needs a namespace: "*", "acme.*" or "acme.slug"`},
		"unknown verb":     {access.Grant{Verbs: []access.Verb{"write"}, Namespaces: everywhere}, `unknown verb "write": use a group, all,`},
		"other case":       {access.Grant{Verbs: []access.Verb{"overridereserved"}, Namespaces: everywhere}, "write overrideReserved"},
		"second verb":      {access.Grant{Verbs: []access.Verb{"read", ""}, Namespaces: everywhere}, `unknown verb ""`},
		"second namespace": {access.Grant{Verbs: read, Namespaces: []string{"slug", "Slug"}}, `"Slug" is not a namespace pattern`},
	} {
		if err := c.grant.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 63)
	for pattern, want := range map[string]bool{
		"*": true, "slug": true, "acme.slug": true, "acme.*": true, "a.b.c.d.e.f.g.*": true, long + ".*": true, "0-_.*": true,
		"": false, ".": false, ".*": false, "**": false, "a*": false, "acme.": false, "acme*": false, "acme.*.slug": false, "*.slug": false,
		"acme.*.*": false, "a.b.c.d.e.f.g.h.*": false, long + "a.*": false, "Acme.*": false, "-a.*": false, " acme.*": false, "acme.* ": false,
	} {
		err := access.Grant{Verbs: []access.Verb{access.Read}, Namespaces: []string{pattern}}.Validate()
		if (err == nil) != want {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}

// This package and the registry accept the same namespaces.
func TestNamespacesMatchTheRegistry(t *testing.T) {
	t.Parallel()
	reg, err := core.Open(memstore.New(memstore.Config{}), dibs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reg.Close() })
	long := strings.Repeat("x", 63)
	for _, namespace := range []string{
		"slug", "a.b", "a.b.c.d.e.f.g.h", "a.b.c.d.e.f.g.h.i", "", ".", "a.", ".a", "a..b", "A", "a-b", "-a", "a-", "_a", "a_", "0", "a b", "ä",
		long, long + "x", long + "." + long, "a.-b", "a/b", "a:b", "a\x00b", "a\n",
	} {
		_, err := reg.Get(t.Context(), dibs.Lookup{Namespace: namespace, Value: "v"})
		theirs := !errors.Is(err, dibs.ErrInvalidNamespace)
		ours := access.Grant{Verbs: []access.Verb{access.Read}, Namespaces: []string{namespace}}.Validate() == nil
		if ours != theirs {
			t.Errorf("%q is a namespace for this package: %v, for the registry: %v", namespace, ours, theirs)
		}
	}
}

func TestRightsIn(t *testing.T) {
	t.Parallel()
	grant := func(where string, verbs ...access.Verb) access.Grant {
		return access.Grant{Verbs: verbs, Namespaces: []string{where}}
	}
	all := dibs.OverrideReserved | dibs.ActForOthers | dibs.Operate
	for name, c := range map[string]struct {
		grants    []access.Grant
		namespace string
		want      dibs.Rights
	}{
		"nothing":                 {nil, "", 0},
		"ordinary":                {[]access.Grant{grant("*", access.Read, access.Watch, access.Hold, access.Own)}, "", 0},
		"all":                     {[]access.Grant{grant("*", access.All)}, "", all},
		"all in one":              {[]access.Grant{grant("slug", access.All)}, "slug", all},
		"all elsewhere":           {[]access.Grant{grant("slug", access.All)}, "email", 0},
		"all, but not everywhere": {[]access.Grant{grant("slug", access.All)}, "", 0},
		"one of two":              {[]access.Grant{grant("slug", access.All), grant("email", access.ActForOthers)}, "email", dibs.ActForOthers},
		"override":                {[]access.Grant{grant("*", access.OverrideReserved)}, "", dibs.OverrideReserved},
		"act for others":          {[]access.Grant{grant("*", access.ActForOthers)}, "", dibs.ActForOthers},
		"settle":                  {[]access.Grant{grant("acme.*", access.Settle)}, "acme.slug", dibs.Operate},
		"recanonicalize":          {[]access.Grant{grant("*", access.Recanonicalize)}, "", dibs.Operate},
		"operate":                 {[]access.Grant{grant("*", access.Operate)}, "", dibs.Operate},
		"sweep and rekey only":    {[]access.Grant{grant("*", access.Sweep, access.Rekey)}, "", 0},
	} {
		if got := (access.Caller{Name: "shop", Grants: c.grants}).RightsIn(c.namespace); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if got := access.Everything.RightsIn(""); got != all {
		t.Errorf("everything: %v", got)
	}
}

// An unknown command has a verb that cannot be granted.
func TestUnknownCommandIsForbidden(t *testing.T) {
	t.Parallel()
	if access.Everything.May(access.VerbOf(nil), "slug") {
		t.Error("an unknown command is allowed")
	}
}

func TestMaySomewhere(t *testing.T) {
	t.Parallel()
	caller := access.Caller{Grants: []access.Grant{
		{Verbs: []access.Verb{access.Read}, Namespaces: []string{"*"}},
		{Verbs: []access.Verb{access.Hold}, Namespaces: []string{"acme.slug"}},
	}}
	for verb, want := range map[access.Verb]bool{access.Get: true, access.Confirm: true, access.Settle: false, access.Claim: false} {
		if got := caller.MaySomewhere(verb); got != want {
			t.Errorf("%s: %v, want %v", verb, got, want)
		}
	}
}
