package dibs

import (
	"fmt"
	"strings"
	"time"
)

// The defaults of a Policy, and the minimum of HoldHistory.
const (
	DefaultMinTTL         = time.Second
	DefaultTTL            = 5 * time.Minute
	DefaultMaxTTL         = 24 * time.Hour
	DefaultMaxHold        = 24 * time.Hour
	DefaultHoldHistory    = 30 * 24 * time.Hour
	MinHoldHistory        = 10 * time.Second
	DefaultRedirectStatus = 301
	DefaultArchivedStatus = 404
)

// Policy is the settings of a namespace. The zero Policy is valid.
type Policy struct {
	// Profile makes values canonical. Nil means [Exact].
	Profile Profile

	// MinTTL, DefaultTTL and MaxTTL bound a TTL. Zero means one second, five minutes, 24 hours.
	MinTTL, DefaultTTL, MaxTTL time.Duration
	// MaxHold bounds a hold with all of its extensions. Zero means 24 hours.
	MaxHold time.Duration
	// MaxHolds is how many live holds one principal may have here, at most 10,000. It keeps one
	// caller from holding every good name. Zero means no bound. Callers without a principal
	// count as one.
	MaxHolds int
	// HoldHistory is how long rows and events of names that were never confirmed are kept, and
	// how long the token of a hold that is over gets no other hold on that name. Zero means 30
	// days. The minimum is 10 seconds, for retries after a lost answer.
	HoldHistory time.Duration

	// ManyPerEntity lets an entity have several active names here, such as an account with
	// several emails. False means one.
	ManyPerEntity bool

	// Quarantine is how long a name that was given up is kept for its last entity. Zero means
	// no quarantine.
	Quarantine time.Duration
	// AliasRetention is how long an old name redirects. Zero means for ever.
	AliasRetention time.Duration
	// RedirectStatus is the HTTP status of an old name: 301, 302, 307 or 308. Zero means 301.
	RedirectStatus int
	// ArchivedStatus is the HTTP status of archived names: 404 or 410. Zero means 404.
	ArchivedStatus int

	// ReservedWords need the right [OverrideReserved]. Nil means none.
	ReservedWords Words
	// Witness says whether the entity of a lapsed hold exists. Nil means that such a hold is over.
	Witness Witness
	// Skeleton refuses look-alikes of a name to all entities but its own. Nil means that
	// look-alikes are different names.
	Skeleton Skeleton
	// Blind replaces values that must not be stored, such as emails, by a keyed hash of the
	// canonical form. The newest key comes first; names are found under all of them. Nil means
	// that values are stored. See [BlindKey].
	Blind []BlindKey
}

// TTL is how long a hold lasts. The zero TTL means the policy's default; [For] makes any other.
type TTL struct {
	d   time.Duration
	set bool
}

// For returns the TTL of duration d. A zero or negative d does not mean the default: the
// command is refused with INVALID_TTL, so that a wrongly computed duration is noticed.
func For(d time.Duration) TTL { return TTL{d: d, set: true} }

// Duration returns the duration. If set is false, the TTL is the policy's default.
func (t TTL) Duration() (d time.Duration, set bool) { return t.d, t.set }

// OtherRules is a namespace whose names follow other rules than those of its policy.
type OtherRules struct {
	Namespace string
	OnRecord  string // the rules that its names follow, such as "exact/1"
	Policy    string // the rules of the policy
}

// OtherRulesError lists the namespaces whose rules the policies would change.
type OtherRulesError struct {
	Namespaces []OtherRules // ordered by name; the first 1,000
	More       int          // how many more there are
}

// Error lists the first namespaces, and says what to do.
func (e *OtherRulesError) Error() string {
	const shown = 5
	var b strings.Builder
	b.WriteString("dibs: the policies have other rules than those by which names were made:")
	for i, n := range e.Namespaces[:min(shown, len(e.Namespaces))] {
		if i > 0 {
			b.WriteString(";")
		}
		fmt.Fprintf(&b, " %s has %s on record, its policy has %s", n.Namespace, n.OnRecord, n.Policy)
	}
	if more := len(e.Namespaces) + e.More - shown; more > 0 {
		fmt.Fprintf(&b, "; and %d more", more)
	}
	if e.Final() {
		b.WriteString("; restore blind and its keys as they were: a namespace can neither become blind nor stop being blind")
	} else {
		b.WriteString("; restore the rules on record, or change each namespace with Recanonicalize first")
	}
	return b.String()
}

// Final reports whether the first namespace would become blind, or stop being blind, which
// [Registry.Recanonicalize] always refuses.
func (e *OtherRulesError) Final() bool {
	const blind = " blind"
	return len(e.Namespaces) > 0 && strings.HasSuffix(e.Namespaces[0].OnRecord, blind) != strings.HasSuffix(e.Namespaces[0].Policy, blind)
}
