package dibs

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// The defaults of a Policy, and what no policy can go below.
const (
	DefaultMinTTL         = time.Second
	DefaultTTL            = 5 * time.Minute
	DefaultMaxTTL         = 24 * time.Hour
	DefaultMaxHold        = 24 * time.Hour
	DefaultHoldHistory    = 30 * 24 * time.Hour
	MinHoldHistory        = 10 * time.Second
	DefaultRedirectStatus = 301
	DefaultArchivedStatus = 404

	maxMaxHolds = 10_000
	maxRuleName = 200
)

// Policy is what a namespace allows. The zero Policy is a good one: each field
// says what its zero value means.
type Policy struct {
	// Profile makes values canonical. Nil means [Exact].
	Profile Profile

	// MinTTL, DefaultTTL and MaxTTL bound one hold. Zero means one second, five
	// minutes, 24 hours.
	MinTTL, DefaultTTL, MaxTTL time.Duration

	// MaxHold is how long extending can keep one hold alive. Zero means 24 hours.
	MaxHold time.Duration

	// MaxHolds is how many live holds one principal may have here, so that
	// nobody can sit on every good name; 10,000 at the most. Zero means any
	// number. The empty principal counts as one.
	MaxHolds int

	// HoldHistory is how long rows and events of names that were never confirmed
	// are kept, and how long the token of a hold that is over takes no other one.
	// Zero means 30 days; 10 seconds are the least, so that whoever asks again after
	// a lost answer finds what became of it.
	HoldHistory time.Duration

	// ManyPerEntity lets an entity have several active names here, such as an
	// account with several emails.
	ManyPerEntity bool

	// Quarantine is how long a name that was given up waits before anyone but
	// its last entity can have it. Zero means no time at all.
	Quarantine time.Duration

	// AliasRetention is how long an old name keeps redirecting. Zero means for
	// ever.
	AliasRetention time.Duration

	// RedirectStatus is the HTTP status of an old name: 301, 302, 307 or 308.
	// Zero means 301.
	RedirectStatus int

	// ArchivedStatus is the HTTP status of an archived entity's names: 404 or
	// 410. Zero means 404.
	ArchivedStatus int

	// ReservedWords are refused to all but a caller with the right to override
	// them. Nil means none.
	ReservedWords Words

	// Witness decides after a crash whether the entity of a lapsed hold exists.
	// Nil means that a hold is over when its time is. See [Witness].
	Witness Witness

	// Skeleton keeps look-alikes of a name from everybody but its own entity. Nil
	// means that names which look alike are different names.
	Skeleton Skeleton

	// Blind replaces values which must not be stored, such as emails, by a keyed hash,
	// before anything else is made of them. The newest key comes first; names are
	// found under all of them. Nil means that values are kept. See [BlindKey].
	Blind []BlindKey
}

// policy is a Policy with its defaults filled in, and what is derived from it.
type policy struct {
	Policy
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
func newPolicy(configured Policy) (*policy, error) {
	p := &policy{Policy: withDefaults(configured)}
	p.profileName = p.Profile.Name()
	p.rules = p.describeRules()
	return p, p.validate()
}

// withDefaults returns the policy with every zero field filled in.
func withDefaults(p Policy) Policy {
	if p.Profile == nil {
		p.Profile = Exact
	}
	// A default never breaks a bound that was set: MaxTTL alone, of a minute,
	// makes a DefaultTTL of a minute.
	setDefault(&p.MaxTTL, DefaultMaxTTL)
	setDefault(&p.MaxHold, max(DefaultMaxHold, p.MaxTTL))
	setDefault(&p.DefaultTTL, max(p.MinTTL, min(DefaultTTL, p.MaxTTL, p.MaxHold)))
	setDefault(&p.MinTTL, min(DefaultMinTTL, p.DefaultTTL))
	setDefault(&p.HoldHistory, DefaultHoldHistory)
	setDefault(&p.RedirectStatus, DefaultRedirectStatus)
	setDefault(&p.ArchivedStatus, DefaultArchivedStatus)
	return p
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
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
		{"HoldHistory", p.HoldHistory, MinHoldHistory},
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
		return fmt.Errorf("the %s calls itself %s, it must be 1 to %d bytes of text without a space, such as %q", what, quote(name), maxRuleName, what+"/1")
	}
	return nil
}

// policies finds the policy of a namespace.
type policies struct {
	byName   map[string]*policy
	fallback *policy
}

func newPolicies(configured map[string]Policy, fallback Policy) (*policies, error) {
	set := &policies{byName: make(map[string]*policy, len(configured))}
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
func (p *policies) space(namespace string) (space, *Error) {
	scope, kind, err := splitNamespace(namespace)
	if err != nil {
		return space{}, err
	}
	s := space{namespace: namespace, scope: scope, kind: kind, policy: p.fallback}
	if policy, ok := p.byName[namespace]; ok {
		s.policy = policy
	} else if policy, ok := p.byName[kind]; ok {
		s.policy = policy
	}
	return s, nil
}

// policy returns the policy of a namespace, with every default filled in.
func (p *policies) policy(namespace string) (Policy, *Error) {
	space, err := p.space(namespace)
	if err != nil {
		return Policy{}, err
	}
	return space.policy.Policy, nil
}

// rulesOf returns the rules of a well-formed namespace.
func (p *policies) rulesOf(namespace string) string {
	space, err := p.space(namespace)
	if err != nil {
		return ""
	}
	return space.policy.rules
}

// otherRules compares the rules on record in a namespace's document with those of its policy.
func (p *policies) otherRules(doc *Document) (rules OtherRules, differ bool, damaged *Error) {
	f, damaged := decodeFloor(doc)
	if damaged != nil {
		return rules, false, damaged
	}
	space, damaged := p.space(doc.Label)
	if damaged != nil {
		return rules, false, damaged
	}
	rules = OtherRules{doc.Label, f.Rules, space.policy.rules}
	return rules, !f.madeBy(rules.Policy) && f.Next != rules.Policy, nil
}

// TTL is how long a hold lasts. The zero TTL means the policy's default; make
// any other with [For].
type TTL struct {
	d   time.Duration
	set bool
}

// For returns the TTL of duration d. A zero or negative d is not the default but
// an error, INVALID_TTL: a computed duration that came out as nothing should be
// noticed.
func For(d time.Duration) TTL { return TTL{d: d, set: true} }

// Duration returns the TTL's duration, and whether it is other than the default.
func (t TTL) Duration() (d time.Duration, set bool) { return t.d, t.set }

// ttl checks a TTL against the policy's bounds. What is finer than a millisecond
// is cut off.
func (p *policy) ttl(t TTL) (time.Duration, *Error) {
	asked, set := t.Duration()
	if !set {
		return p.DefaultTTL, nil
	}
	d := asked.Truncate(time.Millisecond)
	switch {
	case d < p.MinTTL:
		return 0, &Error{Code: CodeInvalidTTL, Message: fmt.Sprintf("a ttl of %v is below the minimum of %v", asked, p.MinTTL)}
	case d > min(p.MaxTTL, p.MaxHold):
		return 0, &Error{Code: CodeTTLTooLong, Message: fmt.Sprintf("a ttl of %v is above the maximum of %v", asked, min(p.MaxTTL, p.MaxHold))}
	}
	return d, nil
}
