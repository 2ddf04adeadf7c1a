package dibs

import (
	"encoding/json"
	"fmt"
	"slices"
)

// readDocument returns the content of one of the registry's own documents, and
// its revision; both are zero where it is absent. One that cannot be read is told as
// an error, with its revision: what that means depends on the kind.
func readDocument[T any](v *view, ref Ref) (content T, rev uint64, err error) {
	doc, ok := v.get(ref).(*Document)
	if !ok {
		return content, 0, nil
	}
	content, err = decodeDocument[T](doc)
	return content, doc.Rev, err
}

func decodeDocument[T any](doc *Document) (content T, _ error) {
	if err := json.Unmarshal(doc.Data, &content); err != nil {
		var empty T // not what was read up to the damage
		return empty, fmt.Errorf("the document %s %q cannot be read: %w", doc.Kind, doc.Label, err)
	}
	return content, nil
}

// writeDocument stores the content of a document.
func writeDocument(v *view, ref Ref, label string, rev uint64, due Instant, content any) {
	data, err := json.Marshal(content)
	if err != nil {
		panic(err) // the registry's own plain structs
	}
	v.put(ref, &Document{Kind: ref.Kind, Scope: ref.Scope, ID: ref.ID, Rev: rev + 1, Label: label, Due: due, Data: data})
}

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

func floorRef(s space) Ref { return Ref{KindFloor, s.scope, hashID("floor\x00" + s.namespace)} }

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
	setDefault(&f.Rules, s.policy.rules)
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

// quota is the live holds of one principal in a namespace.
type quota struct {
	Holds []counted `json:"holds"`
}

// readQuota takes a document that cannot be read for an empty one: it is written anew,
// and for a while the principal may hold more.
func readQuota(v *view, ref Ref) (quota, uint64) {
	q, rev, _ := readDocument[quota](v, ref)
	return q, rev
}

type counted struct {
	ID ID `json:"id"`
	// Until is when the hold is over by itself. One with a witness is not: past its
	// time it is suspect, and still keeps everybody out.
	Until Instant `json:"until,omitempty"`
}

func quotaRef(namespace, scope, principal string) (ref Ref, label string) {
	label = namespace + "/" + principal // no namespace has a slash in it
	return Ref{KindQuota, scope, hashID("quota\x00" + label)}, label
}

// mayHold refuses a hold to a principal that has as many as it may.
func (v *view) mayHold(w *wish) *Error {
	if w.policy.MaxHolds == 0 {
		return nil
	}
	ref, _ := quotaRef(w.namespace, w.scope, w.principal.Name)
	q, rev := readQuota(v, ref)
	v.restOnEnd(ref, rev, q.forget(w.id, v.now))
	if len(q.Holds) < w.policy.MaxHolds {
		return nil
	}
	var first Instant
	for _, c := range q.Holds {
		first = earlier(first, c.Until)
	}
	wait := ""
	if first != 0 {
		wait = fmt.Sprintf(", or wait until %s", first)
	}
	return w.refuse(CodeTooManyHolds, "this principal holds %d names in %s, the most it may: confirm or release one%s",
		len(q.Holds), w.namespace, wait)
}

// countHold notes a hold in its principal's quota, or that it lasts longer.
func (v *view) countHold(d *draft) {
	hold := counted{ID: d.ID, Until: d.ExpiresAt}
	if d.Terms.Witnessed {
		hold.Until = 0
	}
	v.adjustQuota(d, func(q *quota) { q.Holds = append(q.Holds, hold) })
}

// uncountHold notes that a hold is no more.
func (v *view) uncountHold(d *draft) {
	v.adjustQuota(d, func(*quota) {})
	d.Terms.Counted = false
}

func (v *view) adjustQuota(d *draft, change func(*quota)) {
	if !d.Terms.Counted {
		return
	}
	ref, label := quotaRef(d.Namespace, d.Scope, d.Principal)
	q, rev := readQuota(v, ref)
	if rev == 0 {
		// One that was there before may be gone: nobody may take it for this one. A floor
		// that cannot be read fails the decision elsewhere.
		f, _, _ := readFloor(v, space{namespace: d.Namespace, scope: d.Scope})
		rev = f.Rev
	}
	q.forget(d.ID, v.now)
	change(&q)
	writeDocument(v, ref, label, rev, 0, q)
}

// forget drops a hold, and every one that is over: nobody has to report those. It
// returns when the last of them ended.
func (q *quota) forget(id ID, now Instant) (ended Instant) {
	q.Holds = slices.DeleteFunc(q.Holds, func(c counted) bool {
		if c.Until.over(now) {
			ended = max(ended, c.Until)
			return true
		}
		return c.ID == id
	})
	return ended
}

// tally counts refused attempts of one kind in one hour.
type tally struct {
	Namespace string  `json:"namespace"`
	Reason    string  `json:"reason"`
	Hour      Instant `json:"hour"`
	Count     uint64  `json:"count"`
}

// label orders tallies by hour, so that a span of time is one range.
func (t tally) label() string {
	return hourLabel(t.Hour) + "/" + t.Namespace + "/" + t.Reason
}

func hourLabel(hour Instant) string { return hour.Time().Format("2006-01-02T15") }

// addTally adds to a tally. The sweeper deletes it at the date keep.
func addTally(more tally, keep Instant) *job[struct{}] {
	scope, _, _ := splitNamespace(more.Namespace) // the overflow's namespace has none
	ref := Ref{KindTally, scope, hashID("tally\x00" + more.label())}
	p := &preparer{}
	p.want(ref)
	return newJob(p, func(v *view) (struct{}, *Error) {
		t, rev, _ := readDocument[tally](v, ref) // an unreadable one starts at zero
		sum := more
		sum.Count += t.Count
		writeDocument(v, ref, sum.label(), rev, keep, sum)
		return struct{}{}, nil
	})
}
