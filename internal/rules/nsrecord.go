package rules

import (
	"cmp"
	"fmt"

	"github.com/calldibs/dibs"
)

// floor is what every new name of a namespace stands on.
type NamespaceRecord struct {
	// Epoch and Rev are the highest among the purged names. New names start above
	// them, so that neither ever goes back.
	Epoch uint64 `json:"epoch"`
	Rev   uint64 `json:"rev"`
	// Rules says how the names here were made canonical, see [Policy.describeRules].
	Rules string `json:"rules,omitempty"`
	// Next is what the rules are being changed to, and Run who does it: nobody else may
	// go on with that, or end it.
	Next string `json:"next,omitempty"`
	Run  string `json:"run,omitempty"`
}

// admits refuses new names to a process that has other rules for them than the
// namespace has: what one of the two takes for different names, the other may take
// for the same.
func (f NamespaceRecord) admits(s *target) *dibs.Error {
	switch {
	case f.Next != "":
		return s.refuse(dibs.CodeUnavailable, "the rules of %s are being changed to %s, and no new name is given out until that is done; "+
			"if nobody is at it any more, run Recanonicalize again", s.namespace, f.Next)
	case !f.madeBy(s.policy.rules):
		return s.refuse(dibs.CodeUnavailable, "the names of %s were made by the rules %s, and this process has %s: "+
			"configure it alike, or change the namespace by Recanonicalize", s.namespace, f.Rules, s.policy.rules)
	}
	return nil
}

// madeBy reports whether the names here were made by these rules. The first name decides.
func (f NamespaceRecord) madeBy(rules string) bool { return f.Rules == "" || f.Rules == rules }

// mayGoOn refuses to go on with a change of rules that another run has taken over.
func (f NamespaceRecord) mayGoOn(namespace, run string) *dibs.Error {
	if f.Run == run {
		return nil
	}
	return &dibs.Error{Code: dibs.CodeUnavailable, Namespace: namespace, Message: fmt.Sprintf(
		"another run of Recanonicalize has begun on %s, and this one ends", namespace)}
}

// namespaceRecord asks for what is on record of a namespace.
func (set *Policies) NamespaceRecord(namespace string) (*Job[NamespaceRecord], *dibs.Error) {
	s, err := set.namespace(namespace)
	if err != nil {
		return nil, err
	}
	p := &preparer{policies: set}
	p.want(namespaceRecordRef(s))
	return newQuestion(p, func(v *view) (NamespaceRecord, *dibs.Error) {
		f, _, err := readNamespaceRecord(v, s)
		return f, err
	}), nil
}

// beginRules puts on record that a run changes the rules of a namespace. It takes over from
// an earlier run.
func (set *Policies) BeginRules(namespace, rules, run string) (*Job[struct{}], *dibs.Error) {
	return set.changeRecord(namespace, func(f *NamespaceRecord) *dibs.Error {
		f.Next, f.Run = rules, run
		return nil
	})
}

// endRules puts on record that a run is over, and which rules the namespace has, unless
// another run has begun since.
func (set *Policies) EndRules(namespace, rules, run string) (*Job[struct{}], *dibs.Error) {
	return set.changeRecord(namespace, func(f *NamespaceRecord) *dibs.Error {
		err := f.mayGoOn(namespace, run)
		f.Rules, f.Next, f.Run = rules, "", ""
		return err
	})
}

// raiseRecord makes the namespace's highest epoch and revision at least these.
func (set *Policies) RaiseRecord(namespace string, epoch, rev uint64) (*Job[struct{}], *dibs.Error) {
	return set.changeRecord(namespace, func(f *NamespaceRecord) *dibs.Error {
		f.Epoch, f.Rev = max(f.Epoch, epoch), max(f.Rev, rev)
		return nil
	})
}

func (set *Policies) changeRecord(namespace string, change func(*NamespaceRecord) *dibs.Error) (*Job[struct{}], *dibs.Error) {
	s, err := set.namespace(namespace)
	if err != nil {
		return nil, err
	}
	p := &preparer{policies: set}
	p.want(namespaceRecordRef(s))
	return newJob(p, func(v *view) (none struct{}, _ *dibs.Error) {
		f, rev, err := readNamespaceRecord(v, s)
		if err != nil {
			return none, err
		}
		changed := f
		if err := change(&changed); err != nil {
			return none, err
		}
		if changed != f {
			writeNamespaceRecord(v, s, rev, changed)
		}
		return none, nil
	}), nil
}

func namespaceRecordRef(s namespaceInfo) dibs.Ref {
	return dibs.Ref{Kind: dibs.KindFloor, Scope: s.scope, ID: recordID("floor\x00" + s.namespace)}
}

// floor returns the floor of a namespace, for a name without a row. A name that comes
// and is purged before the decision is committed raises it, and so is noticed. That
// takes a record which is there: the first decision in a namespace writes one.
func (v *view) namespaceRecord(s *target) (NamespaceRecord, *dibs.Error) {
	f, rev, err := readNamespaceRecord(v, s.namespaceInfo)
	if err != nil {
		return f, err
	}
	if f.Rules == "" {
		f.Rules = s.policy.rules
		writeNamespaceRecord(v, s.namespaceInfo, rev, f)
	}
	return f, f.admits(s)
}

// mayMakeNames refuses new names to a process with other rules than the namespace has. It is
// for a decision that makes none.
func (v *view) mayMakeNames(s *target) *dibs.Error {
	f, _, err := readNamespaceRecord(v, s.namespaceInfo)
	if err != nil {
		return err
	}
	f.Rules = cmp.Or(f.Rules, s.policy.rules)
	return f.admits(s)
}

// readFloor fails where the document cannot be read: taken for empty it would let
// epochs start over.
func readNamespaceRecord(v *view, s namespaceInfo) (NamespaceRecord, uint64, *dibs.Error) {
	doc, ok := v.get(namespaceRecordRef(s)).(*dibs.Document)
	if !ok {
		return NamespaceRecord{}, 0, nil
	}
	f, known := v.batch.namespaceRecords[doc]
	if !known {
		var err *dibs.Error
		if f, err = decodeNamespaceRecord(doc); err != nil {
			return NamespaceRecord{}, 0, err
		}
		v.batch.namespaceRecords[doc] = f
	}
	return f, doc.Rev, nil
}

func decodeNamespaceRecord(doc *dibs.Document) (NamespaceRecord, *dibs.Error) {
	f, err := decodeDocument[NamespaceRecord](doc)
	if err != nil {
		return NamespaceRecord{}, dibs.Unavailable(fmt.Errorf("%w: without it epochs could go back", err))
	}
	return f, nil
}

func writeNamespaceRecord(v *view, s namespaceInfo, rev uint64, f NamespaceRecord) {
	writeDocument(v, namespaceRecordRef(s), s.namespace, rev, 0, f)
}

// raiseFloor makes the floor at least as high as what is removed, and returns it.
func (v *view) raiseNamespaceRecord(s namespaceInfo, f NamespaceRecord, rev, epoch, highest uint64) NamespaceRecord {
	raised := f
	raised.Epoch, raised.Rev = max(f.Epoch, epoch), max(f.Rev, highest)
	if raised != f {
		writeNamespaceRecord(v, s, rev, raised)
	}
	return raised
}

// purge removes a name that was never confirmed, and its events.
func (v *view) purge(d *nameState, s namespaceInfo) *dibs.Error {
	f, rev, err := readNamespaceRecord(v, s)
	if err != nil {
		return err
	}
	v.raiseNamespaceRecord(s, f, rev, d.Epoch, max(d.Rev, v.removeFromIndex(d)))
	v.put(d.Ref(), nil)
	return nil
}
