package dibs

import (
	"cmp"
	"fmt"
)

// floor is what every new name of a namespace stands on.
type floor struct {
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
func (f floor) admits(s *subject) *Error {
	switch {
	case f.Next != "":
		return s.refuse(CodeUnavailable, "the rules of %s are being changed to %s, and no new name is given out until that is done; "+
			"if nobody is at it any more, run Recanonicalize again", s.namespace, f.Next)
	case !f.madeBy(s.policy.rules):
		return s.refuse(CodeUnavailable, "the names of %s were made by the rules %s, and this process has %s: "+
			"configure it alike, or change the namespace by Recanonicalize", s.namespace, f.Rules, s.policy.rules)
	}
	return nil
}

// madeBy reports whether the names here were made by these rules. The first name decides.
func (f floor) madeBy(rules string) bool { return f.Rules == "" || f.Rules == rules }

// mayGoOn refuses to go on with a change of rules that another run has taken over.
func (f floor) mayGoOn(namespace, run string) *Error {
	if f.Run == run {
		return nil
	}
	return &Error{Code: CodeUnavailable, Namespace: namespace, Message: fmt.Sprintf(
		"another run of Recanonicalize has begun on %s, and this one ends", namespace)}
}

// namespaceRecord asks for what is on record of a namespace.
func (set *policies) namespaceRecord(namespace string) (*job[floor], *Error) {
	s, err := set.space(namespace)
	if err != nil {
		return nil, err
	}
	p := &preparer{policies: set}
	p.want(floorRef(s))
	return newQuestion(p, func(v *view) (floor, *Error) {
		f, _, err := readFloor(v, s)
		return f, err
	}), nil
}

// beginRules puts on record that a run changes the rules of a namespace. It takes over from
// an earlier run.
func (set *policies) beginRules(namespace, rules, run string) (*job[struct{}], *Error) {
	return set.changeRecord(namespace, func(f *floor) *Error {
		f.Next, f.Run = rules, run
		return nil
	})
}

// endRules puts on record that a run is over, and which rules the namespace has, unless
// another run has begun since.
func (set *policies) endRules(namespace, rules, run string) (*job[struct{}], *Error) {
	return set.changeRecord(namespace, func(f *floor) *Error {
		err := f.mayGoOn(namespace, run)
		f.Rules, f.Next, f.Run = rules, "", ""
		return err
	})
}

// raiseRecord makes the namespace's highest epoch and revision at least these.
func (set *policies) raiseRecord(namespace string, epoch, rev uint64) (*job[struct{}], *Error) {
	return set.changeRecord(namespace, func(f *floor) *Error {
		f.Epoch, f.Rev = max(f.Epoch, epoch), max(f.Rev, rev)
		return nil
	})
}

func (set *policies) changeRecord(namespace string, change func(*floor) *Error) (*job[struct{}], *Error) {
	s, err := set.space(namespace)
	if err != nil {
		return nil, err
	}
	p := &preparer{policies: set}
	p.want(floorRef(s))
	return newJob(p, func(v *view) (none struct{}, _ *Error) {
		f, rev, err := readFloor(v, s)
		if err != nil {
			return none, err
		}
		changed := f
		if err := change(&changed); err != nil {
			return none, err
		}
		if changed != f {
			writeFloor(v, s, rev, changed)
		}
		return none, nil
	}), nil
}

func floorRef(s space) Ref { return Ref{KindFloor, s.scope, recordID("floor\x00" + s.namespace)} }

// floor returns the floor of a namespace, for a name without a row. A name that comes
// and is purged before the decision is committed raises it, and so is noticed. That
// takes a record which is there: the first decision in a namespace writes one.
func (v *view) floor(s *subject) (floor, *Error) {
	f, rev, err := readFloor(v, s.space)
	if err != nil {
		return f, err
	}
	if f.Rules == "" {
		f.Rules = s.policy.rules
		writeFloor(v, s.space, rev, f)
	}
	return f, f.admits(s)
}

// mayMakeNames refuses new names to a process with other rules than the namespace has. It is
// for a decision that makes none.
func (v *view) mayMakeNames(s *subject) *Error {
	f, _, err := readFloor(v, s.space)
	if err != nil {
		return err
	}
	f.Rules = cmp.Or(f.Rules, s.policy.rules)
	return f.admits(s)
}

// readFloor fails where the document cannot be read: taken for empty it would let
// epochs start over.
func readFloor(v *view, s space) (floor, uint64, *Error) {
	doc, ok := v.get(floorRef(s)).(*Document)
	if !ok {
		return floor{}, 0, nil
	}
	f, known := v.ledger.floors[doc]
	if !known {
		var err *Error
		if f, err = decodeFloor(doc); err != nil {
			return floor{}, 0, err
		}
		v.ledger.floors[doc] = f
	}
	return f, doc.Rev, nil
}

func decodeFloor(doc *Document) (floor, *Error) {
	f, err := decodeDocument[floor](doc)
	if err != nil {
		return floor{}, Unavailable(fmt.Errorf("%w: without it epochs could go back", err))
	}
	return f, nil
}

func writeFloor(v *view, s space, rev uint64, f floor) {
	writeDocument(v, floorRef(s), s.namespace, rev, 0, f)
}

// raiseFloor makes the floor at least as high as what is removed, and returns it.
func (v *view) raiseFloor(s space, f floor, rev, epoch, highest uint64) floor {
	raised := f
	raised.Epoch, raised.Rev = max(f.Epoch, epoch), max(f.Rev, highest)
	if raised != f {
		writeFloor(v, s, rev, raised)
	}
	return raised
}

// purge removes a name that was never confirmed, and its events.
func (v *view) purge(d *draft, s space) *Error {
	f, rev, err := readFloor(v, s)
	if err != nil {
		return err
	}
	v.raiseFloor(s, f, rev, d.Epoch, max(d.Rev, v.unfile(d)))
	v.put(d.Ref(), nil)
	return nil
}
