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

// policy is a Policy with its defaults filled in, and what is derived from it.
type policy struct {
	dibs.Policy
	profileName string // of Profile, which is called once
	rules       string // identifies what decides which names are the same
}

// canonical asks the profile. It may be the user's own code, and must not take the
// process down with it.
func (p *policy) canonical(value string) (canonical string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the profile %s panicked: %v", p.profileName, r)
		}
	}()
	return p.Profile.Canonical(value)
}

// skeleton asks for what look-alikes have in common, as carefully.
func (p *policy) skeleton(canonical string) (skeleton string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the skeleton %s panicked: %v", p.Skeleton.Name(), r)
		}
	}()
	return p.Skeleton.Skeleton(canonical), nil
}

// describeRules names everything that decides which names are the same.
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
	// A default never breaks a bound that was set: MaxTTL alone, of a minute,
	// makes a DefaultTTL of a minute.
	p.MaxTTL = cmp.Or(p.MaxTTL, dibs.DefaultMaxTTL)
	p.MaxHold = cmp.Or(p.MaxHold, max(dibs.DefaultMaxHold, p.MaxTTL))
	p.DefaultTTL = cmp.Or(p.DefaultTTL, max(p.MinTTL, min(dibs.DefaultTTL, p.MaxTTL, p.MaxHold)))
	p.MinTTL = cmp.Or(p.MinTTL, min(dibs.DefaultMinTTL, p.DefaultTTL))
	p.HoldHistory = cmp.Or(p.HoldHistory, dibs.DefaultHoldHistory)
	p.RedirectStatus = cmp.Or(p.RedirectStatus, dibs.DefaultRedirectStatus)
	p.ArchivedStatus = cmp.Or(p.ArchivedStatus, dibs.DefaultArchivedStatus)
	return p
}

// validate checks a policy that has its defaults.
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
			return fmt.Errorf("%s is %v, it must be at least %v", d.name, d.value, d.least)
		}
		if d.value%time.Millisecond != 0 {
			return fmt.Errorf("%s is %v, it must be whole milliseconds", d.name, d.value)
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
		return fmt.Errorf("MaxHolds is %d, it must be between 0 and %d", p.MaxHolds, maxMaxHolds)
	case !slices.Contains([]int{301, 302, 307, 308}, p.RedirectStatus):
		return fmt.Errorf("RedirectStatus is %d, it must be 301, 302, 307 or 308", p.RedirectStatus)
	case p.ArchivedStatus != 404 && p.ArchivedStatus != 410:
		return fmt.Errorf("ArchivedStatus is %d, it must be 404 or 410", p.ArchivedStatus)
	}
	return checkBlind(p.Blind)
}

// checkRuleName checks what a profile or a skeleton calls itself: the rules of a
// namespace are made of it.
func checkRuleName(what, name string) error {
	if problem := textProblem(name, 1, maxRuleName); problem != "" || strings.ContainsRune(name, ' ') {
		return fmt.Errorf("the name of the %s is %s, it must be 1 to %d bytes of text without a space, such as %q", what, quote(name), maxRuleName, what+"/1")
	}
	return nil
}

// policies finds the policy of a namespace.
type Policies struct {
	byName   map[string]*policy
	fallback *policy
}

func NewPolicies(configured map[string]dibs.Policy, fallback dibs.Policy) (*Policies, error) {
	set := &Policies{byName: make(map[string]*policy, len(configured))}
	for name, p := range configured {
		if _, _, err := splitNamespace(name); err != nil {
			return nil, fmt.Errorf("dibs: policy for %q: %w", name, err)
		}
		var err error
		if set.byName[name], err = newPolicy(p); err != nil {
			return nil, fmt.Errorf("dibs: policy for %q: %w", name, err)
		}
	}
	var err error
	if set.fallback, err = newPolicy(fallback); err != nil {
		return nil, fmt.Errorf("dibs: default policy: %w", err)
	}
	return set, nil
}

// space takes a namespace apart and finds its policy: that of the whole
// namespace, else that of its type, else the default.
func (set *Policies) namespace(namespace string) (namespaceInfo, *dibs.Error) {
	scope, kind, err := splitNamespace(namespace)
	if err != nil {
		return namespaceInfo{}, err
	}
	ns := namespaceInfo{namespace: namespace, scope: scope, kind: kind, policy: set.fallback}
	if policy, ok := set.byName[namespace]; ok {
		ns.policy = policy
	} else if policy, ok := set.byName[kind]; ok {
		ns.policy = policy
	}
	return ns, nil
}

// policy returns the policy of a namespace, with every default filled in.
func (set *Policies) Policy(namespace string) (dibs.Policy, *dibs.Error) {
	ns, err := set.namespace(namespace)
	if err != nil {
		return dibs.Policy{}, err
	}
	return ns.policy.Policy, nil
}

// rulesOf returns the rules of a well-formed namespace.
func (set *Policies) RulesOf(namespace string) string {
	ns, err := set.namespace(namespace)
	if err != nil {
		return ""
	}
	return ns.policy.rules
}

// otherRules compares the rules on record in a namespace's document with those of its policy.
func (set *Policies) OtherRules(doc *dibs.Document) (rules dibs.OtherRules, differ bool, damaged *dibs.Error) {
	record, damaged := decodeNamespaceRecord(doc)
	if damaged != nil {
		return rules, false, damaged
	}
	ns, damaged := set.namespace(doc.Label)
	if damaged != nil {
		return rules, false, damaged
	}
	rules = dibs.OtherRules{Namespace: doc.Label, OnRecord: record.Rules, Policy: ns.policy.rules}
	return rules, !record.madeBy(rules.Policy) && record.Next != rules.Policy, nil
}

// ttl checks a TTL against the policy's bounds. What is finer than a millisecond
// is cut off.
func (p *policy) ttl(t dibs.TTL) (time.Duration, *dibs.Error) {
	asked, set := t.Duration()
	if !set {
		return p.DefaultTTL, nil
	}
	d := asked.Truncate(time.Millisecond)
	switch {
	case d < p.MinTTL:
		return 0, &dibs.Error{Code: dibs.CodeInvalidTTL, Message: fmt.Sprintf("a ttl of %v is below the minimum of %v", asked, p.MinTTL)}
	case d > min(p.MaxTTL, p.MaxHold):
		return 0, &dibs.Error{Code: dibs.CodeTTLTooLong, Message: fmt.Sprintf("a ttl of %v is above the maximum of %v", asked, min(p.MaxTTL, p.MaxHold))}
	}
	return d, nil
}
