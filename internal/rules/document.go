package rules

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/calldibs/dibs"
)

// readDocument returns the content of a document of the registry, and its revision; both are zero
// if it is absent. If it cannot be read, the error comes with the revision; what that means
// depends on the kind.
func readDocument[T any](v *view, ref dibs.Ref) (content T, rev uint64, err error) {
	doc, ok := v.get(ref).(*dibs.Document)
	if !ok {
		return content, 0, nil
	}
	content, err = decodeDocument[T](doc)
	return content, doc.Rev, err
}

func decodeDocument[T any](doc *dibs.Document) (content T, _ error) {
	if err := json.Unmarshal(doc.Data, &content); err != nil {
		var empty T // not what was decoded before the error
		return empty, fmt.Errorf("the document %s %q cannot be read: %w", doc.Kind, doc.Label, err)
	}
	return content, nil
}

func writeDocument(v *view, ref dibs.Ref, label string, rev uint64, due dibs.Instant, content any) {
	data, err := json.Marshal(content)
	if err != nil {
		panic(err) // cannot happen: contents are plain structs of this package
	}
	v.put(ref, &dibs.Document{Kind: ref.Kind, Scope: ref.Scope, ID: ref.ID, Rev: rev + 1, Label: label, Due: due, Data: data})
}

// recordID returns the ID of a record that a text identifies.
func recordID(text string) dibs.ID {
	sum := sha256.Sum256([]byte(text))
	return dibs.ID(sum[:len(dibs.ID{})])
}

// NamespaceRecord is what the registry keeps about a namespace as a whole. Every decision that
// makes a new name reads it.
type NamespaceRecord struct {
	// Epoch and Rev are the highest of the purged names and index entries. New names start above
	// them, so that neither ever goes back.
	Epoch uint64 `json:"epoch"`
	Rev   uint64 `json:"rev"`
	// Rules names the rules that the names here follow; see policy.rules.
	Rules string `json:"rules,omitempty"`
	// Next names the rules that the names are being changed to, and Run identifies the run of
	// Recanonicalize that does it: no other run may continue or end the change.
	Next string `json:"next,omitempty"`
	Run  string `json:"run,omitempty"`

	docRev uint64 // the revision of the document that it was read from; 0 if there is none
}

// checkRules refuses new names to a process whose rules are not those of the namespace: values that
// are different names by one of the two may be the same name by the other.
func (r NamespaceRecord) checkRules(t *target) *dibs.Error {
	switch {
	case r.Next != "":
		return t.refuse(dibs.CodeUnavailable, "the rules of %s are being changed to %s, which allows no new names until it is done; "+
			"if that run was interrupted, run Recanonicalize again", t.namespace, r.Next)
	case !r.madeBy(t.policy.rules):
		return t.refuse(dibs.CodeUnavailable, "the names of %s follow the rules %s, but this process has %s: "+
			"configure the same rules, or change the namespace with Recanonicalize", t.namespace, r.Rules, t.policy.rules)
	}
	return nil
}

// madeBy reports whether the names here follow these rules. The first name sets them.
func (r NamespaceRecord) madeBy(rules string) bool { return r.Rules == "" || r.Rules == rules }

// checkRun refuses to go on with a change of rules that another run has taken over.
func (r NamespaceRecord) checkRun(namespace, run string) *dibs.Error {
	if r.Run == run {
		return nil
	}
	err := refuse(dibs.CodeUnavailable, "another run of Recanonicalize has taken over %s, and this run stops", namespace)
	err.Namespace = namespace
	return err
}

// recordForNewName returns the namespace record for a decision that makes a name. A name that is
// made and purged before that decision is committed raises the record, so that Commit notices. This
// takes a record that exists: the first decision in a namespace writes it.
func (v *view) recordForNewName(t *target) (NamespaceRecord, *dibs.Error) {
	record := v.readNamespaceRecord(t.namespace)
	if record.Rules == "" {
		record.Rules = t.policy.rules
		v.writeNamespaceRecord(t.namespace, record)
	}
	return record, record.checkRules(t)
}

// readNamespaceRecord returns the record of a namespace. A document that cannot be read fails the
// decision: if it counted as empty, epochs would start over.
func (v *view) readNamespaceRecord(namespace string) NamespaceRecord {
	doc, ok := v.get(namespaceRecordRef(namespace)).(*dibs.Document)
	if !ok {
		return NamespaceRecord{}
	}
	record, err := v.batch.decodeNamespaceRecord(doc)
	if err != nil {
		v.fault = err
	}
	return record
}

func decodeNamespaceRecord(doc *dibs.Document) (NamespaceRecord, *dibs.Error) {
	record, err := decodeDocument[NamespaceRecord](doc)
	if err != nil {
		return NamespaceRecord{}, dibs.Unavailable(fmt.Errorf("%w: without it epochs could go back", err))
	}
	record.docRev = doc.Rev
	return record, nil
}

func (v *view) writeNamespaceRecord(namespace string, record NamespaceRecord) {
	writeDocument(v, namespaceRecordRef(namespace), namespace, record.docRev, 0, record)
}

func namespaceRecordRef(namespace string) dibs.Ref {
	return dibs.Ref{Kind: dibs.KindNamespace, Scope: dibs.ScopeOf(namespace), ID: recordID("floor\x00" + namespace)}
}

// raiseRecord makes the epoch and the revision of a namespace record at least those of what is
// removed, and returns the record.
func (v *view) raiseRecord(namespace string, epoch, rev uint64) NamespaceRecord {
	record := v.readNamespaceRecord(namespace)
	if epoch > record.Epoch || rev > record.Rev {
		record.Epoch, record.Rev = max(record.Epoch, epoch), max(record.Rev, rev)
		v.writeNamespaceRecord(namespace, record)
	}
	return record
}

// NamespaceRecord asks for the record of a namespace.
func (set *Policies) NamespaceRecord(namespace string) (*Job[NamespaceRecord], *dibs.Error) {
	return newQuestion(set.preparer(namespaceRecordRef(namespace)), func(v *view) (NamespaceRecord, *dibs.Error) {
		return v.readNamespaceRecord(namespace), nil
	}), CheckNamespace(namespace)
}

// BeginRules records that a run changes the rules of a namespace. It takes over from an earlier
// run.
func (set *Policies) BeginRules(namespace, rules, run string) (*Job[struct{}], *dibs.Error) {
	return set.changeRecord(namespace, func(record *NamespaceRecord) *dibs.Error {
		record.Next, record.Run = rules, run
		return nil
	})
}

// EndRules records that a run is over, and which rules the namespace has, unless another run has
// begun since.
func (set *Policies) EndRules(namespace, rules, run string) (*Job[struct{}], *dibs.Error) {
	return set.changeRecord(namespace, func(record *NamespaceRecord) *dibs.Error {
		err := record.checkRun(namespace, run)
		record.Rules, record.Next, record.Run = rules, "", ""
		return err
	})
}

// RaiseRecord makes the namespace's highest epoch and revision at least these.
func (set *Policies) RaiseRecord(namespace string, epoch, rev uint64) (*Job[struct{}], *dibs.Error) {
	return set.changeRecord(namespace, func(record *NamespaceRecord) *dibs.Error {
		record.Epoch, record.Rev = max(record.Epoch, epoch), max(record.Rev, rev)
		return nil
	})
}

func (set *Policies) changeRecord(namespace string, change func(*NamespaceRecord) *dibs.Error) (*Job[struct{}], *dibs.Error) {
	return newJob(set.preparer(namespaceRecordRef(namespace)), func(v *view) (none struct{}, _ *dibs.Error) {
		record := v.readNamespaceRecord(namespace)
		changed := record
		err := change(&changed)
		if changed != record {
			v.writeNamespaceRecord(namespace, changed)
		}
		return none, err
	}), CheckNamespace(namespace)
}

// quota lists the live holds of one principal in a namespace.
type quota struct {
	Holds []counted `json:"holds"`
}

type counted struct {
	ID dibs.ID `json:"id"`
	// Until is when the hold is over by itself. It is zero for a hold with a witness: that becomes
	// a suspect, which still holds the name.
	Until dibs.Instant `json:"until,omitempty"`
}

func quotaRef(namespace, principal string) (ref dibs.Ref, label string) {
	label = namespace + "/" + principal // no namespace contains a slash
	return dibs.Ref{Kind: dibs.KindQuota, Scope: dibs.ScopeOf(namespace), ID: recordID("quota\x00" + label)}, label
}

// checkQuota refuses a hold if the principal has as many as the policy allows.
func (v *view) checkQuota(r *reservation) *dibs.Error {
	if r.policy.MaxHolds == 0 {
		return nil
	}
	ref, _ := quotaRef(r.namespace, r.principal.Name)
	q, rev := v.readQuota(ref)
	v.noteEnd(ref, rev, q.drop(r.id, v.now))
	if len(q.Holds) < r.policy.MaxHolds {
		return nil
	}
	var first dibs.Instant
	for _, c := range q.Holds {
		if c.Until != 0 && (first == 0 || c.Until < first) {
			first = c.Until
		}
	}
	wait := ""
	if first != 0 {
		wait = fmt.Sprintf(", or wait until %s", first)
	}
	return r.refuse(dibs.CodeTooManyHolds, "this principal holds %d names in %s, the maximum: confirm or release one%s",
		len(q.Holds), r.namespace, wait)
}

// countHold adds a hold to its principal's quota, or sets its new end.
func (v *view) countHold(n *nameState) {
	hold := counted{ID: n.ID, Until: n.ExpiresAt}
	if n.Terms.Witnessed {
		hold.Until = 0
	}
	v.setHolds(n, hold)
}

func (v *view) uncountHold(n *nameState) {
	v.setHolds(n)
	n.Terms.Counted = false
}

// setHolds replaces the holds of a counted name in its principal's quota.
func (v *view) setHolds(n *nameState, holds ...counted) {
	if !n.Terms.Counted {
		return
	}
	ref, label := quotaRef(n.Namespace, n.Principal)
	q, rev := v.readQuota(ref)
	if rev == 0 {
		// A quota of the same principal may have been deleted, and the two must not be confused.
		rev = v.readNamespaceRecord(n.Namespace).Rev
	}
	q.drop(n.ID, v.now)
	q.Holds = append(q.Holds, holds...)
	writeDocument(v, ref, label, rev, 0, q)
}

// readQuota reads a quota. One that cannot be read counts as empty: it is written anew, and for a
// while the principal may hold more.
func (v *view) readQuota(ref dibs.Ref) (quota, uint64) {
	q, rev, _ := readDocument[quota](v, ref)
	return q, rev
}

// drop removes a hold, and every hold that is over by itself. It returns when the last of those
// ended.
func (q *quota) drop(id dibs.ID, now dibs.Instant) (ended dibs.Instant) {
	q.Holds = slices.DeleteFunc(q.Holds, func(c counted) bool {
		if c.Until.Reached(now) {
			ended = max(ended, c.Until)
			return true
		}
		return c.ID == id
	})
	return ended
}

// dropQuota deletes the quota of the principal that reserved the name, unless it has other holds:
// the quota contains the principal's name.
func (v *view) dropQuota(n *nameState) {
	ref, _ := quotaRef(n.Namespace, n.Principal)
	if v.absent(ref) {
		return
	}
	q, rev := v.readQuota(ref)
	q.drop(n.ID, v.now)
	if len(q.Holds) == 0 {
		v.put(ref, nil)
		v.raiseRecord(n.Namespace, 0, rev)
	}
}

// Tally counts refused attempts of one kind in one hour.
type Tally struct {
	Namespace string       `json:"namespace"`
	Reason    string       `json:"reason"`
	Hour      dibs.Instant `json:"hour"`
	Count     uint64       `json:"count"`
}

// Label orders tallies by hour, so that a span of time is one range.
func (t Tally) Label() string { return HourLabel(t.Hour) + "/" + t.Namespace + "/" + t.Reason }

const hourFormat = "2006-01-02T15"

// HourLabel returns the prefix of the labels of the tallies of an instant's hour.
func HourLabel(at dibs.Instant) string { return at.Time().Format(hourFormat) }

// SkipTallies returns the first label after the given one that a tally of the namespace can have.
func SkipTallies(label, namespace string) string {
	hour, rest, _ := strings.Cut(label, "/")
	switch prefix := namespace + "/"; {
	case strings.HasPrefix(rest, prefix):
		return label
	case rest > prefix:
		at, err := time.Parse(hourFormat, hour)
		if err != nil {
			return label // not reached: it is the label of a tally
		}
		hour = HourLabel(dibs.InstantOf(at.Add(time.Hour)))
	}
	return hour + "/" + namespace + "/"
}

// AddTally adds to a stored tally. The sweeper deletes it at the instant keep.
func AddTally(more Tally, keep dibs.Instant) *Job[struct{}] {
	scope, _, _ := splitNamespace(more.Namespace) // the namespace of overflowing tallies has no scope
	ref := dibs.Ref{Kind: dibs.KindTally, Scope: scope, ID: recordID("tally\x00" + more.Label())}
	p := &preparer{}
	p.want(ref)
	return newJob(p, func(v *view) (struct{}, *dibs.Error) {
		t, rev, _ := readDocument[Tally](v, ref) // one that cannot be read starts at zero
		sum := more
		sum.Count += t.Count
		writeDocument(v, ref, sum.Label(), rev, keep, sum)
		return struct{}{}, nil
	})
}
