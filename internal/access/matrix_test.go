package access_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/access"
)

// groupsOf lists by hand the groups of each verb.
const groupsOf = `
	check            read all
	resolve          read all
	get              read all
	history          read all
	list             watch all
	events           watch all
	stats            watch all
	bulk             watch all
	reserve          hold all
	extend           hold all
	confirm          hold all
	release          hold all
	claim            own all
	rename           own all
	archive          own all
	restore          own all
	delete           own all
	decommission     own all
	transfer         own all
	swap             own all
	settle           operate all
	sweep            operate all
	rekey            operate all
	recanonicalize   operate all
	import           all
	forget           all
	overrideReserved all
	actForOthers     all
	webhooks         all
	keys             all
`

// matches lists for each pattern the namespaces and scopes that it matches.
var matches = []struct {
	pattern            string
	namespaces, scopes []string
}{
	{"*", allNamespaces, allScopes},
	{"slug", []string{"slug"}, nil},
	{"acme", []string{"acme"}, nil},
	{"acme.*", []string{"acme.slug", "acme.email", "acme.eu.slug", "acme.eu.west.slug"}, []string{"acme", "acme.eu", "acme.eu.west"}},
	{"acme.slug", []string{"acme.slug"}, nil},
	{"acme.eu.*", []string{"acme.eu.slug", "acme.eu.west.slug"}, []string{"acme.eu", "acme.eu.west"}},
	{"acme.eu.slug", []string{"acme.eu.slug"}, nil},
	{"acm.*", nil, nil},
	{"eu.*", []string{"eu.slug"}, []string{"eu"}},
}

var (
	// The empty namespace means all namespaces.
	allNamespaces = []string{"", "slug", "email", "acme", "acme.slug", "acme.email", "acme.eu.slug", "acme.eu.west.slug", "acme2.slug", "eu.slug", "other.slug"}
	allScopes     = []string{"", "acme", "acme.eu", "acme.eu.west", "acme2", "eu", "other"}
)

// TestMatrix grants every verb and group on every pattern, and asks for every verb in every
// namespace and scope.
func TestMatrix(t *testing.T) {
	t.Parallel()
	table := handwritten(t)
	granted := append(slices.Clone(access.Groups()), access.Verbs()...)
	asked := 0
	for _, match := range matches {
		for _, g := range granted {
			caller := access.Caller{Name: "c", Grants: []access.Grant{{Verbs: []access.Verb{g}, Namespaces: []string{match.pattern}}}}
			if err := caller.Grants[0].Validate(); err != nil {
				t.Fatal(err)
			}
			for verb, groups := range table {
				covered := string(g) == verb || slices.Contains(groups, string(g))
				for _, n := range allNamespaces {
					want := covered && slices.Contains(match.namespaces, n)
					if got := caller.May(access.Verb(verb), n); got != want {
						t.Errorf("%s on %s: May %s in %q is %v, want %v", g, match.pattern, verb, n, got, want)
					}
					asked++
				}
				for _, s := range allScopes {
					want := covered && slices.Contains(match.scopes, s)
					if got := caller.MayInScope(access.Verb(verb), s); got != want {
						t.Errorf("%s on %s: MayInScope %s in %q is %v, want %v", g, match.pattern, verb, s, got, want)
					}
					asked++
				}
			}
		}
	}
	t.Logf("%d questions", asked)
}

// handwritten parses groupsOf, and checks that it has all verbs and no others.
func handwritten(t *testing.T) map[string][]string {
	t.Helper()
	table := make(map[string][]string)
	for line := range strings.Lines(strings.TrimSpace(groupsOf)) {
		words := strings.Fields(line)
		table[words[0]] = words[1:]
	}
	for _, v := range access.Verbs() {
		if table[string(v)] == nil {
			t.Errorf("the verb %s is not in the table", v)
		}
	}
	if n := len(access.Verbs()); n != len(table) {
		t.Errorf("%d verbs, want %d", n, len(table))
	}
	return table
}

// The verb of one grant does not combine with the namespace of another.
func TestGrantsDoNotMix(t *testing.T) {
	t.Parallel()
	caller := access.Caller{Grants: []access.Grant{
		{Verbs: []access.Verb{access.Read}, Namespaces: []string{"*"}},
		{Verbs: []access.Verb{access.Hold, access.Claim}, Namespaces: []string{"slug", "acme.*"}},
	}}
	for _, c := range []struct {
		verb      access.Verb
		namespace string
		want      bool
	}{
		{access.Get, "other.slug", true},
		{access.Get, "", true},
		{access.Reserve, "slug", true},
		{access.Claim, "acme.slug", true},
		{access.Reserve, "other.slug", false},
		{access.Rename, "slug", false},
		{access.Reserve, "", false},
	} {
		if got := caller.May(c.verb, c.namespace); got != c.want {
			t.Errorf("%s in %q is %v", c.verb, c.namespace, got)
		}
	}
	if (access.Caller{}).May(access.Get, "slug") || (access.Caller{}).MayInScope(access.Get, "") {
		t.Error("the zero caller has rights")
	}
}
