package dibs

// RecanonicalizeRequest asks to bring the names of a namespace under the rules of its present
// policy: another profile, or another skeleton.
//
// While it runs, the namespace gives out no new names and no new spellings, because it is not
// yet known which names are the same; such commands are refused with UNAVAILABLE. Everything
// else works: reading, confirming, releasing. Afterwards only processes with the new rules get
// new names. Recanonicalize can be interrupted at any time; run it again to continue. A second
// run takes over from one in progress. To go back, run it with the old rules; merged names stay
// merged.
type RecanonicalizeRequest struct {
	Namespace string
	// DryRun only says what would be done.
	DryRun bool
	// Progress is called after each batch. Nil means no calls.
	Progress func(done, total int)
}

// Recanonicalization is the report of Recanonicalize.
type Recanonicalization struct {
	Namespace string
	From, To  string // the rules, such as "exact/1"; From is empty if none were recorded
	Looked    int    // names that are not free
	Done      int    // names that were brought under the new rules
	Counts    map[FindingKind]int
	// Findings are the names behind the counts, the first 1,000 of each kind.
	Findings []Finding
}

// FindingKind says what happens to a name under new rules.
type FindingKind string

// The kinds of finding.
const (
	// FindingChange: the name gets another canonical form and reservation id. It keeps its
	// owner, hold and history, and the old reservation id still leads to it.
	FindingChange FindingKind = "change"
	// FindingMerge: the name and another name of its entity become one.
	FindingMerge FindingKind = "merge"
	// FindingCollision: the name becomes the same as a name of another entity, or as another
	// active name of its own. Nothing changes until one is renamed or decommissioned.
	FindingCollision FindingKind = "collision"
	// FindingInvalid: the name is not valid under the new rules. Nothing is changed.
	FindingInvalid FindingKind = "invalid"
	// FindingLookAlike: it looks like another entity's name. Both stay; new ones are refused.
	FindingLookAlike FindingKind = "look_alike"
	// FindingUnfiled: the name is not indexed under the newest [BlindKey].
	FindingUnfiled FindingKind = "unfiled"
)

// Finding is what happens to one name under new rules.
type Finding struct {
	Kind FindingKind
	Name Name
	To   string // the new canonical form
	With *Name  // the other name of a merge, a collision or a look-alike; else nil
	Why  string // why the name is invalid; else empty
}
