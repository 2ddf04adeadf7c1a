package rules_test

import (
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

// Labels decide what is stored together and in which order.
func TestActivityLabels(t *testing.T) {
	t.Parallel()
	at := dibs.InstantOf(time.Date(2026, 1, 2, 12, 34, 0, 0, time.UTC))
	a := rules.Activity{Namespace: "acme.slug", Start: at}
	for per, want := range map[time.Duration]string{time.Minute: "m/2026-01-02T12:34/acme.slug", time.Hour: "h/2026-01-02T12/acme.slug"} {
		if got := a.Label(per); got != want {
			t.Errorf("the label per %v is %s, want %s", per, got, want)
		}
	}
	if minutes, hours := rules.ActivityKept(time.Minute), rules.ActivityKept(time.Hour); minutes != 2*time.Hour || hours != 8*24*time.Hour {
		t.Errorf("minutes are kept %v, hours %v", minutes, hours)
	}
}

// A reader of one namespace skips the tallies of others.
func TestSkipTallies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ label, want string }{
		{"2026-01-02T12/slug/held", "2026-01-02T12/slug/held"},
		{"2026-01-02T12/slug/", "2026-01-02T12/slug/"},
		{"2026-01-02T12/", "2026-01-02T12/slug/"},
		{"2026-01-02T12/email/held", "2026-01-02T12/slug/"},
		{"2026-01-02T12/username/held", "2026-01-02T13/slug/"},
		{"2026-01-02T12/slugs/held", "2026-01-02T13/slug/"},
		{"2026-12-31T23/username/held", "2027-01-01T00/slug/"},
	} {
		if got := rules.SkipTallies(c.label, "slug"); got != c.want {
			t.Errorf("after %s comes %s, want %s", c.label, got, c.want)
		}
	}
}

// A refusal names where a command applies.
func TestLocationNames(t *testing.T) {
	t.Parallel()
	user := dibs.Entity{Type: "user", ID: "1"}
	for want, command := range map[string]dibs.Command{
		"user/1":               dibs.Archive{Entity: user},
		"user/1 of scope acme": dibs.Archive{Entity: user, Scope: "acme"},
		"acme.slug":            dibs.Claim{Namespace: "acme.slug"},
	} {
		if at := rules.Locations(command); len(at) != 1 || at[0].Name != want {
			t.Errorf("%+v applies in %+v, want %s", command, at, want)
		}
	}
}
