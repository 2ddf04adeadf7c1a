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
	maxMaxHolds      = 10_000
	maxRuleName      = 200
	maxSegments      = 8
	maxSegmentLength = 63
)

// policy is a [dibs.Policy] with its defaults filled in, and what is derived from it.
type policy struct {
	dibs.Policy
	profileName  string // the names are asked for once
	skeletonName string
	rules        string // identifies what decides which values are the same name
}

func newPolicy(configured dibs.Policy) (*policy, error) {
	p := &policy{Policy: withDefaults(configured)}
	p.profileName = p.Profile.Name()
	p.rules = p.profileName
	if p.Skeleton != nil {
		p.skeletonName = p.Skeleton.Name()
		p.rules += " " + p.skeletonName
	}
	if p.blind() {
		p.rules += " blind"
	}
	return p, p.validate()
}

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
		if err := checkRuleName("skeleton", p.skeletonName); err != nil {
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

// canonical asks the profile, which may be user code: what it returns is checked like any input.
func (p *policy) canonical(value string) (canonical string, err error) {
	if problem := textProblem(value, 1, maxValue); problem != "" {
		return "", &dibs.Refusal{Rule: "text", Problem: "it " + problem, At: -1}
	}
	defer recoverFrom("profile", p.profileName, &err)
	if canonical, err = p.Profile.Canonical(value); err != nil {
		return "", err
	}
	if problem := textProblem(canonical, 1, maxValue); problem != "" {
		return "", &dibs.Refusal{Rule: "canonical_text", Problem: "its canonical form " + problem, At: -1}
	}
	return canonical, nil
}

func (p *policy) skeleton(canonical string) (skeleton string, err error) {
	defer recoverFrom("skeleton", p.skeletonName, &err)
	return p.Skeleton.Skeleton(canonical), nil
}

// join asks the profile to append a word to a canonical form. The default joins with a hyphen, and
// cuts a canonical form that is too long.
func (p *policy) join(canonical, word string) (joined string) {
	joiner, ok := p.Profile.(dibs.Joiner)
	if !ok {
		if most := max(0, maxValue-len(word)-1); len(canonical) > most {
			canonical = strings.ToValidUTF8(canonical[:most], "") // without a part of a character
		}
		return canonical + "-" + word
	}
	defer recoverFrom("profile", p.profileName, new(error))
	return joiner.Join(canonical, word)
}

// recoverFrom makes an error of a panic. A profile or a skeleton may be user code, and its panic
// must not end the process.
func recoverFrom(what, name string, err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the %s %s panicked: %v", what, name, r)
	}
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

// Policies are the policies of all namespaces. Their methods prepare all requests and jobs. They are
// immutable, and safe for concurrent use.
type Policies struct {
	byName   map[string]*policy
	fallback *policy
}

// NewPolicies checks policies and fills in their defaults. They are configured by namespace or by
// type; fallback is for all others.
func NewPolicies(configured map[string]dibs.Policy, fallback dibs.Policy) (*Policies, error) {
	set := &Policies{byName: make(map[string]*policy, len(configured))}
	for name, p := range configured {
		if err := CheckNamespace(name); err != nil {
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

// namespace splits a namespace and finds its policy: that of the whole namespace, else that of its
// type, else the default. A namespace that is refused has the default too.
func (set *Policies) namespace(namespace string) (namespaceInfo, *dibs.Error) {
	scope, kind, err := splitNamespace(namespace)
	policy := cmp.Or(set.byName[namespace], set.byName[kind], set.fallback)
	return namespaceInfo{namespace: namespace, scope: scope, kind: kind, policy: policy}, err
}

// policyOf returns the policy of a name that has a row: its namespace is well-formed.
func (p *preparer) policyOf(n *nameState) *policy {
	ns, _ := p.policies.namespace(n.Namespace)
	return ns.policy
}

// Policy returns the policy of a namespace, with every default filled in.
func (set *Policies) Policy(namespace string) (dibs.Policy, *dibs.Error) {
	ns, err := set.namespace(namespace)
	return ns.policy.Policy, err
}

// RulesOf returns the rules of a well-formed namespace.
func (set *Policies) RulesOf(namespace string) string {
	ns, _ := set.namespace(namespace)
	return ns.policy.rules
}

// OtherRules compares the rules in the document of a namespace record with those of its policy.
func (set *Policies) OtherRules(doc *dibs.Document) (rules dibs.OtherRules, differ bool, damaged *dibs.Error) {
	record, damaged := decodeNamespaceRecord(doc)
	rules = dibs.OtherRules{Namespace: doc.Label, OnRecord: record.Rules, Policy: set.RulesOf(doc.Label)}
	return rules, !record.madeBy(rules.Policy) && record.Next != rules.Policy, cmp.Or(damaged, CheckNamespace(doc.Label))
}

// namespaceInfo is a namespace split into its parts, with the policy that governs it.
type namespaceInfo struct {
	namespace string
	scope     string // everything before the last segment; empty for "slug"
	kind      string // the last segment: "slug" in "acme.slug"
	policy    *policy
}

// splitNamespace checks a namespace's form and returns its scope and type.
func splitNamespace(namespace string) (scope, kind string, err *dibs.Error) {
	segments := 0
	for kind = range strings.SplitSeq(namespace, ".") {
		problem := segmentProblem(kind)
		if segments++; problem == "" && segments > maxSegments {
			problem = fmt.Sprintf("it has more than %d segments", maxSegments)
		}
		if problem != "" {
			return "", "", refuse(dibs.CodeInvalidNamespace,
				`namespace %s is not well-formed: %s; write it like "slug" or "acme.slug"`, quote(namespace), problem)
		}
	}
	return dibs.ScopeOf(namespace), kind, nil
}

func segmentProblem(segment string) string {
	switch {
	case segment == "":
		return "a segment is empty"
	case len(segment) > maxSegmentLength:
		return fmt.Sprintf("a segment is longer than %d characters", maxSegmentLength)
	case segment[0] == '-' || segment[0] == '_':
		return fmt.Sprintf("the segment %s does not begin with a letter or a digit", quote(segment))
	}
	for _, r := range segment {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' {
			return fmt.Sprintf("the segment %s contains %q; allowed are a-z, 0-9, '-' and '_'", quote(segment), r)
		}
	}
	return ""
}

// CheckNamespace checks a namespace's form.
func CheckNamespace(namespace string) *dibs.Error {
	_, _, err := splitNamespace(namespace)
	return err
}

// checkScope checks a scope: empty, or the first segments of a namespace.
func checkScope(scope string) *dibs.Error {
	if scope == "" {
		return nil
	}
	err := CheckNamespace(scope + ".x")
	if err != nil {
		err.Message = fmt.Sprintf("scope %s is not well-formed: %s", quote(scope), err.Message)
	}
	return err
}
