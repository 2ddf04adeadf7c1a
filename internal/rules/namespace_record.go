package rules

import (
	"fmt"

	"github.com/calldibs/dibs"
)

// NamespaceRecord is what the registry keeps about a namespace as a whole. Every decision that
// makes a new name reads it.
type NamespaceRecord struct {
	// Epoch and Rev are the highest of the purged names and index entries. New names start above
	// them, so that neither ever goes back.
	Epoch uint64 `json:"epoch"`
	Rev   uint64 `json:"rev"`
	// Rules names the rules that the names here follow; see policy.describeRules.
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
func (r NamespaceRecord) madeBy(rules string) bool {
	return r.Rules == "" || r.Rules == rules
}

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
	record, err := v.readNamespaceRecord(t.namespaceInfo)
	if err != nil {
		return record, err
	}
	if record.Rules == "" {
		record.Rules = t.policy.rules
		v.writeNamespaceRecord(t.namespaceInfo, record)
	}
	return record, record.checkRules(t)
}

// checkNewNames refuses like [view.recordForNewName], for a decision that only asks.
func (v *view) checkNewNames(t *target) *dibs.Error {
	record, err := v.readNamespaceRecord(t.namespaceInfo)
	if err != nil {
		return err
	}
	return record.checkRules(t)
}

// readNamespaceRecord returns the record of a namespace. It fails if the document cannot be read:
// if that counted as empty, epochs would start over.
func (v *view) readNamespaceRecord(ns namespaceInfo) (NamespaceRecord, *dibs.Error) {
	doc, ok := v.get(namespaceRecordRef(ns)).(*dibs.Document)
	if !ok {
		return NamespaceRecord{}, nil
	}
	record, known := v.batch.namespaceRecords[doc]
	if !known {
		var err *dibs.Error
		if record, err = decodeNamespaceRecord(doc); err != nil {
			return NamespaceRecord{}, err
		}
		v.batch.namespaceRecords[doc] = record
	}
	return record, nil
}

func decodeNamespaceRecord(doc *dibs.Document) (NamespaceRecord, *dibs.Error) {
	record, err := decodeDocument[NamespaceRecord](doc)
	if err != nil {
		return NamespaceRecord{}, dibs.Unavailable(fmt.Errorf("%w: without it epochs could go back", err))
	}
	record.docRev = doc.Rev
	return record, nil
}

func (v *view) writeNamespaceRecord(ns namespaceInfo, record NamespaceRecord) {
	writeDocument(v, namespaceRecordRef(ns), ns.namespace, record.docRev, 0, record)
}

func namespaceRecordRef(ns namespaceInfo) dibs.Ref {
	return dibs.Ref{Kind: dibs.KindNamespace, Scope: ns.scope, ID: recordID("floor\x00" + ns.namespace)}
}

// raiseRecord makes the epoch and the revision of a namespace record at least those of what is
// removed, and returns the record.
func (v *view) raiseRecord(ns namespaceInfo, record NamespaceRecord, epoch, rev uint64) NamespaceRecord {
	raised := record
	raised.Epoch, raised.Rev = max(record.Epoch, epoch), max(record.Rev, rev)
	if raised != record {
		v.writeNamespaceRecord(ns, raised)
	}
	return raised
}

// purge removes a name that was never confirmed, and its events.
func (v *view) purge(n *nameState, ns namespaceInfo) *dibs.Error {
	record, err := v.readNamespaceRecord(ns)
	if err != nil {
		return err
	}
	v.raiseRecord(ns, record, n.Epoch, max(n.Rev, v.removeFromIndex(n)))
	v.put(n.Ref(), nil)
	return nil
}

// NamespaceRecord asks for the record of a namespace.
func (set *Policies) NamespaceRecord(namespace string) (*Job[NamespaceRecord], *dibs.Error) {
	ns, err := set.namespace(namespace)
	if err != nil {
		return nil, err
	}
	return newQuestion(set.preparer(namespaceRecordRef(ns)), func(v *view) (NamespaceRecord, *dibs.Error) {
		return v.readNamespaceRecord(ns)
	}), nil
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

// changeRecord returns a job that changes the record of a namespace.
func (set *Policies) changeRecord(namespace string, change func(*NamespaceRecord) *dibs.Error) (*Job[struct{}], *dibs.Error) {
	ns, err := set.namespace(namespace)
	if err != nil {
		return nil, err
	}
	return newJob(set.preparer(namespaceRecordRef(ns)), func(v *view) (none struct{}, _ *dibs.Error) {
		record, err := v.readNamespaceRecord(ns)
		if err != nil {
			return none, err
		}
		changed := record
		if err := change(&changed); err != nil {
			return none, err
		}
		if changed != record {
			v.writeNamespaceRecord(ns, changed)
		}
		return none, nil
	}), nil
}
