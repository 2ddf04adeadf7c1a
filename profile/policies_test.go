package profile_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/calldibs/dibs/profile"
)

func TestPolicies(t *testing.T) {
	t.Parallel()
	policies := profile.Policies()
	if got, want := slices.Sorted(maps.Keys(policies)), []string{"email", "hostname", "slug", "username"}; !slices.Equal(got, want) {
		t.Errorf("the policies are for %q, want %q", got, want)
	}
	for kind, policy := range policies {
		if name := policy.Profile.Name(); !strings.HasPrefix(name, kind+"/") {
			t.Errorf("the policy for %q has the profile %q", kind, name)
		}
	}
}

func TestPoliciesReturnsCopies(t *testing.T) {
	t.Parallel()
	mine := profile.Policies()
	delete(mine, "slug")
	if _, ok := profile.Policies()["slug"]; !ok {
		t.Error("Policies returns a shared map")
	}
}

func TestPoliciesUseTheirProfiles(t *testing.T) {
	t.Parallel()
	for kind, c := range map[string]struct{ value, want string }{
		"slug":     {"summer-fest", "summer-fest"},
		"username": {"Anna", "anna"},
		"email":    {"anna@EXAMPLE.com", "anna@example.com"},
		"hostname": {"ACME-Shop", "acme-shop"},
	} {
		if got, err := profile.Policies()[kind].Profile.Canonical(c.value); err != nil || got != c.want {
			t.Errorf("%s: Canonical(%q) = %q, %v; want %q", kind, c.value, got, err, c.want)
		}
	}
}
