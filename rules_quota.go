package dibs

import (
	"fmt"
	"slices"
)

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
	return Ref{KindQuota, scope, recordID("quota\x00" + label)}, label
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
		if c.Until != 0 && (first == 0 || c.Until < first) {
			first = c.Until
		}
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
		if c.Until.Reached(now) {
			ended = max(ended, c.Until)
			return true
		}
		return c.ID == id
	})
	return ended
}
