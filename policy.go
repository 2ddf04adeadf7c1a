package dibs

import (
	"fmt"
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

// OtherRules is a namespace whose names were made by other rules than a policy has; see
// [Registry.CheckPolicies].
type OtherRules struct {
	Namespace string
	OnRecord  string // the rules that its names were made by, such as "exact/1"
	Policy    string // those that the policy has
}

// OtherRulesError says which namespaces policies would put under other rules. The first
// 1,000 are listed.
type OtherRulesError struct {
	Namespaces []OtherRules // by name
	More       int          // how many there are beside those
}

// Error names the first of the namespaces, and what to do.
func (e *OtherRulesError) Error() string {
	const shown = 5
	var b strings.Builder
	b.WriteString("dibs: names would be under other rules than they were made by:")
	for i, n := range e.Namespaces[:min(shown, len(e.Namespaces))] {
		if i > 0 {
			b.WriteString(";")
		}
		fmt.Fprintf(&b, " %s has %s on record, and the policy has %s", n.Namespace, n.OnRecord, n.Policy)
	}
	if more := len(e.Namespaces) + e.More - shown; more > 0 {
		fmt.Fprintf(&b, "; and %d more", more)
	}
	b.WriteString("; go back to the rules on record, or change each namespace by Recanonicalize first")
	return b.String()
}
