package verify

import "fmt"

// Check is one promise that a store is held to.
type Check struct {
	ID      string
	Promise string // what holds in a sound store
	Advice  string // what to do when it does not
	// Urgent means that a name may have the wrong owner, be given to a second one, or be refused to its
	// own: it cannot wait until the morning.
	Urgent bool
}

// The checks. docs/verifying.md lists them.
var (
	soundFile   = urgent("file", "the engine's own check of its file finds nothing: its indexes agree with its tables, and no commits in its log are lost", "restore a backup; if only indexes are damaged, stop the servers and run REINDEX in the sqlite3 shell; if commits are lost, the finding has the command to do without them")
	soundRecord = urgent("damaged", "a record or event is as it was written: its checksum is right", "the engine refuses to serve it: see A damaged record in docs/verifying.md")

	nameID       = urgent("name-id", "the id of a name is the hash of its namespace and canonical form", damagedRecord)
	twoRows      = urgent("two-rows", "a name has one row, and so one owner", "two owners may believe that they have it: decide who keeps it, then see A damaged record in docs/verifying.md")
	nameState    = urgent("state", "state, status, owner, token and dates of a name fit together", damagedRecord)
	dueDate      = add("due", "a name is due when its state ends by itself", "until then no sweep sees the name: an extend, a rename or a release by its owner writes the date again")
	canonical    = urgent("canonical", "the canonical form is what the profile makes of the value", "run dibs recanonicalize for the namespace, first with --dry-run")
	tombstone    = add("tombstone", "nothing of a forgotten name is left in its row", "run dibs forget for the person or the name again")
	spentTokens  = add("spent", "a name remembers at most 16 earlier tokens, each of an earlier epoch", "nothing at once: the list ends with the hold history")
	movedRow     = add("moved", "the row from which a name was moved is free, and stays in its namespace", "run dibs recanonicalize for the namespace, first with --dry-run")
	entityID     = urgent("entity-id", "the id of an entity is the hash of its scope, type and id", damagedRecord)
	entityState  = add("entity", "an entity is not archived and deleted at once, and is due only after it was deleted", "archive, restore or delete it again")
	documentID   = add("document-id", "the id of a document is the hash of what it is about", damagedRecord)
	documentData = urgent("document-data", "a document can be read", "names that need it are refused: see A damaged record in docs/verifying.md")
	rulesDiffer  = add("rules", "the names of a namespace follow the rules of its policy", "give --config with the policies of the servers; if the policy is new, run dibs recanonicalize")
	wrongPart    = urgent("part", "a record is in the store that the routes name for its scope", "compare the routes of the configuration with those on record; no server finds this record")

	ownerKnown  = urgent("owner", "the owner of a name, active or alias, has a record and was not deleted", "decommission the name; if the entity exists in your product, claim it again")
	activeSlot  = urgent("active", "the record of an entity lists its active names, and no others", "rename the entity to the name that it should have, and back")
	oneActive   = urgent("one-active", "an entity has one active name in a namespace, unless its policy allows many", "decommission the names that it should not have")
	lookAlikes  = add("look-alikes", "a taken name is in the index of its look-alikes", "run dibs recanonicalize for the namespace: it writes the index again")
	blindKeys   = urgent("blind-keys", "a taken name of a blind namespace is in the index of its keyed hash, alone", "run dibs rekey for the value")
	indexEntry  = add("index-entry", "an entry of an index leads to names of its namespace that have a row", "run dibs recanonicalize for the namespace: it writes the index again")
	quotaHolds  = add("quota", "a quota lists the live holds of its principal, and no others", "it mends itself when the hold ends")
	hasRecord   = add("namespace-record", "a namespace with names has its record, so that epochs do not go back", "the next new name writes it again; epochs of names that were purged may then repeat, so systems that fence with them must drop what they know of such names")
	countsRight = add("counts", "the engine's counts of names are right", "dibs stats is wrong by that much; names are not affected")

	hasHistory   = add("history", "a name has a history", damagedRecord)
	orphanEvent  = urgent("orphan-event", "an event is about a name that has a row", "the name counts as free, and its last event says whose it was: see A damaged record in docs/verifying.md")
	eventName    = add("event-name", "an event has the namespace and the canonical form of its name", damagedRecord)
	eventOrder   = add("event-order", "the revisions in a history go up, and the row's is not behind", damagedRecord)
	eventEpoch   = add("epoch", "epochs go up with each hold or owner, and never back", "systems that fence with the epoch may accept a late writer: raise it by a transfer to the owner and back")
	historyGap   = add("history-gap", "each event of a history begins where the one before it ended", damagedRecord)
	eventStep    = add("event-step", "each event leads from a state to one that it can lead to", damagedRecord)
	replayedName = urgent("replay", "the events of a name, replayed, give its row", "the history and the row disagree on who has the name: find out who is right, then transfer or decommission it")
	replayedOne  = add("entity-replay", "the events of an entity, replayed, give its record", "archive, restore or delete it again")
)

const damagedRecord = "no command repairs it: see A damaged record in docs/verifying.md"

// Checks are all checks, in the order of the documentation.
var Checks []*Check

func add(id, promise, advice string) *Check {
	c := &Check{ID: id, Promise: promise, Advice: advice}
	Checks = append(Checks, c)
	return c
}

func urgent(id, promise, advice string) *Check {
	c := add(id, promise, advice)
	c.Urgent = true
	return c
}

// Finding is one place where a store does not keep a promise.
type Finding struct {
	Check     string `json:"check"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`   // its canonical form
	Entity    string `json:"entity,omitempty"` // with its scope
	Record    string `json:"record,omitempty"` // the id of the row, or the label of the document
	Problem   string `json:"problem"`
	Found     string `json:"found,omitempty"`
	Expected  string `json:"expected,omitempty"`
	Advice    string `json:"advice"`
	Urgent    bool   `json:"urgent"` // see [Check]
}

// Where returns what the finding is about, for people.
func (f Finding) Where() string {
	switch {
	case f.Name != "":
		return f.Namespace + ":" + f.Name
	case f.Entity != "":
		return f.Entity
	case f.Namespace != "" && f.Record == "":
		return f.Namespace
	default:
		return f.Record
	}
}

// differs returns the finding with what the store has and what was expected.
func (f Finding) differs(found, expected any) Finding {
	f.Found, f.Expected = fmt.Sprint(found), fmt.Sprint(expected)
	return f
}
