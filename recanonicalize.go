package dibs

// RecanonicalizeRequest asks to bring the names of a namespace under the rules that
// its policy has now: another profile, or look-alikes refused.
//
// While it runs nobody is given a new name in the namespace, or another spelling, since
// nobody could say yet whether it is another name; such commands are UNAVAILABLE.
// Everything else goes on: reading, confirming, releasing. Afterwards only processes with
// the new rules are given names. It can be interrupted at any time, and goes on when it
// is run again; a second run takes over from one that is under way. With the old rules it
// goes back, except that names which were merged stay one.
type RecanonicalizeRequest struct {
	Namespace string
	// DryRun says what would be done, and does nothing.
	DryRun bool
	// Progress, if there is one, is told what is done so far, after each batch.
	Progress func(done, total int)
}

// Recanonicalization is what becomes of the names of a namespace under other rules.
type Recanonicalization struct {
	Namespace string
	From, To  string // the rules, such as "exact/1"; From is empty where none were noted
	Looked    int    // names that somebody has, holds or waits for
	Done      int    // names that were brought under the new rules
	Counts    map[FindingKind]int
	// Findings are the names behind the counts, the first 1,000 of each kind.
	Findings []Finding
}

// FindingKind says what becomes of a name under other rules.
type FindingKind string

// The kinds of finding.
const (
	// FindingChange: its canonical form becomes another one. It keeps its owner, its
	// hold and its history; its reservation id is another one, and the old one still
	// leads to it.
	FindingChange FindingKind = "change"
	// FindingMerge: it becomes the same as another name of its entity. The two become
	// one.
	FindingMerge FindingKind = "merge"
	// FindingCollision: it becomes the same as a name that is not its entity's, or both
	// are active names of one. It stops everything: rename or decommission one of them
	// first.
	FindingCollision FindingKind = "collision"
	// FindingInvalid: it is not valid under the new rules. It stops everything.
	FindingInvalid FindingKind = "invalid"
	// FindingLookAlike: it looks like a name that is not its entity's. Both stay; no
	// further one is given out.
	FindingLookAlike FindingKind = "look_alike"
	// FindingUnfiled: a blind namespace's name that is not filed under the newest key.
	// See [BlindKey].
	FindingUnfiled FindingKind = "unfiled"
)

// Finding is what becomes of one name under other rules.
type Finding struct {
	Kind FindingKind
	Name Name
	To   string // the new canonical form
	With *Name  // the other name, of a merge, a collision or a look-alike
	Why  string // what is not valid
}
