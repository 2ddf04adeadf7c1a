package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/calldibs/dibs"
)

const (
	maxMaxHolds = 10_000
	maxRuleName = 200
)

// policy is a [dibs.Policy] with its defaults filled in, and what is derived from it.
type policy struct {
	dibs.Policy
	profileName string // the name of Profile, which is asked once
	rules       string // identifies what decides which values are the same name
}

// newPolicy fills in the defaults of a policy and checks it.
func newPolicy(configured dibs.Policy) (*policy, error) {
	p := &policy{Policy: withDefaults(configured)}
	p.profileName = p.Profile.Name()
	p.rules = p.describeRules()
	return p, p.validate()
}

// withDefaults returns the policy with every zero field filled in.
func withDefaults(p dibs.Policy) dibs.Policy {
	if p.Profile == nil {
		p.Profile = dibs.Exact
	}
	// A default never breaks a bound that was set: a MaxTTL of one minute makes a DefaultTTL of one
	// minute.
	p.MaxTTL = cmp.Or(p.MaxTTL, dibs.DefaultMaxTTL)
	p.MaxHold = cmp.Or(p.MaxHold, max(dibs.DefaultMaxHold, p.MaxTTL))
	p.DefaultTTL = cmp.Or(p.DefaultTTL, max(p.MinTTL, min(dibs.DefaultTTL, p.MaxTTL, p.MaxHold)))
	p.MinTTL = cmp.Or(p.MinTTL, min(dibs.DefaultMinTTL, p.DefaultTTL))
	p.HoldHistory = cmp.Or(p.HoldHistory, dibs.DefaultHoldHistory)
	p.RedirectStatus = cmp.Or(p.RedirectStatus, dibs.DefaultRedirectStatus)
	p.ArchivedStatus = cmp.Or(p.ArchivedStatus, dibs.DefaultArchivedStatus)
	return p
}

func (p *policy) validate() error {
	for _, d := range []struct {
		name  string
		value time.Duration
		least time.Duration
	}{
		{"MinTTL", p.MinTTL, time.Millisecond},
		{"DefaultTTL", p.DefaultTTL, p.MinTTL},
		{"MaxTTL", p.MaxTTL, p.DefaultTTL},
		{"MaxHold", p.MaxHold, p.DefaultTTL},
		{"HoldHistory", p.HoldHistory, dibs.MinHoldHistory},
		{"Quarantine", p.Quarantine, 0},
		{"AliasRetention", p.AliasRetention, 0},
	} {
		if d.value < d.least {
			return &PolicyError{d.name, fmt.Sprintf("is %v, it must be at least %v", d.value, d.least)}
		}
		if d.value%time.Millisecond != 0 {
			return &PolicyError{d.name, fmt.Sprintf("is %v, it must be whole milliseconds", d.value)}
		}
	}
	if err := checkRuleName("profile", p.profileName); err != nil {
		return err
	}
	if p.Skeleton != nil {
		if err := checkRuleName("skeleton", p.Skeleton.Name()); err != nil {
			return err
		}
	}
	switch {
	case p.MaxHolds < 0 || p.MaxHolds > maxMaxHolds:
		return &PolicyError{"MaxHolds", fmt.Sprintf("is %d, it must be between 0 and %d", p.MaxHolds, maxMaxHolds)}
	case !slices.Contains([]int{301, 302, 307, 308}, p.RedirectStatus):
		return &PolicyError{"RedirectStatus", fmt.Sprintf("is %d, it must be 301, 302, 307 or 308", p.RedirectStatus)}
	case p.ArchivedStatus != 404 && p.ArchivedStatus != 410:
		return &PolicyError{"ArchivedStatus", fmt.Sprintf("is %d, it must be 404 or 410", p.ArchivedStatus)}
	}
	return checkBlind(p.Blind)
}

// PolicyError says which field of a policy is not valid, and why.
type PolicyError struct{ Field, Problem string }

// Error returns the field and what is wrong with it.
func (e *PolicyError) Error() string { return e.Field + " " + e.Problem }

// CheckPolicy checks a policy, with its defaults filled in. What is wrong with one field is a
// [*PolicyError].
func CheckPolicy(p dibs.Policy) error {
	_, err := newPolicy(p)
	return err
}

// checkRuleName checks the name of a profile or a skeleton: the rules of a namespace are named
// after them.
func checkRuleName(what, name string) error {
	if problem := textProblem(name, 1, maxRuleName); problem != "" || strings.ContainsRune(name, ' ') {
		return fmt.Errorf("the name of the %s is %s, it must be 1 to %d bytes of text without a space, such as %q", what, quote(name), maxRuleName, what+"/1")
	}
	return nil
}

// describeRules names everything that decides which values are the same name.
func (p *policy) describeRules() string {
	rules := p.profileName
	if p.Skeleton != nil {
		rules += " " + p.Skeleton.Name()
	}
	if p.blind() {
		rules += " blind"
	}
	return rules
}

// canonical asks the profile. A profile may be user code, and its panic must not end the process.
func (p *policy) canonical(value string) (canonical string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the profile %s panicked: %v", p.profileName, r)
		}
	}()
	return p.Profile.Canonical(value)
}

// skeleton asks the policy's skeleton, and recovers like canonical.
func (p *policy) skeleton(canonical string) (skeleton string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the skeleton %s panicked: %v", p.Skeleton.Name(), r)
		}
	}()
	return p.Skeleton.Skeleton(canonical), nil
}

// ttl checks a TTL against the policy's bounds. It is rounded down to milliseconds.
func (p *policy) ttl(t dibs.TTL) (time.Duration, *dibs.Error) {
	asked, set := t.Duration()
	if !set {
		return p.DefaultTTL, nil
	}
	d := asked.Truncate(time.Millisecond)
	switch {
	case d < p.MinTTL:
		return 0, refuse(dibs.CodeInvalidTTL, "a ttl of %v is below the minimum of %v", asked, p.MinTTL)
	case d > min(p.MaxTTL, p.MaxHold):
		return 0, refuse(dibs.CodeTTLTooLong, "a ttl of %v is above the maximum of %v", asked, min(p.MaxTTL, p.MaxHold))
	}
	return d, nil
}
