package rules

import (
	"fmt"
	"slices"

	"github.com/calldibs/dibs"
)

// quota is the live holds of one principal in a namespace.
type quota struct {
	Holds []counted `json:"holds"`
}

// readQuota takes a document that cannot be read for an empty one: it is written anew,
// and for a while the principal may hold more.
func readQuota(v *view, ref dibs.Ref) (quota, uint64) {
	q, rev, _ := readDocument[quota](v, ref)
	return q, rev
}

type counted struct {
	ID dibs.ID `json:"id"`
	// Until is when the hold is over by itself. One with a witness is not: past its
	// time it is suspect, and still keeps everybody out.
	Until dibs.Instant `json:"until,omitempty"`
}

func quotaRef(namespace, scope, principal string) (ref dibs.Ref, label string) {
	label = namespace + "/" + principal // no namespace has a slash in it
	return dibs.Ref{Kind: dibs.KindQuota, Scope: scope, ID: recordID("quota\x00" + label)}, label
}

// mayHold refuses a hold to a principal that has as many as it may.
func (v *view) mayHold(r *reservation) *dibs.Error {
	if r.policy.MaxHolds == 0 {
		return nil
	}
	ref, _ := quotaRef(r.namespace, r.scope, r.principal.Name)
	q, rev := readQuota(v, ref)
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

// countHold notes a hold in its principal's quota, or that it lasts longer.
func (v *view) countHold(n *nameState) {
	hold := counted{ID: n.ID, Until: n.ExpiresAt}
	if n.Terms.Witnessed {
		hold.Until = 0
	}
	v.adjustQuota(n, func(q *quota) { q.Holds = append(q.Holds, hold) })
}

// uncountHold notes that a hold is no more.
func (v *view) uncountHold(n *nameState) {
	v.adjustQuota(n, func(*quota) {})
	n.Terms.Counted = false
}

func (v *view) adjustQuota(n *nameState, change func(*quota)) {
	if !n.Terms.Counted {
		return
	}
	ref, label := quotaRef(n.Namespace, n.Scope, n.Principal)
	q, rev := readQuota(v, ref)
	if rev == 0 {
		// One that was there before may be gone: nobody may take it for this one. A floor
		// that cannot be read fails the decision elsewhere.
		record, _, _ := readNamespaceRecord(v, namespaceInfo{namespace: n.Namespace, scope: n.Scope})
		rev = record.Rev
	}
	q.drop(n.ID, v.now)
	change(&q)
	writeDocument(v, ref, label, rev, 0, q)
}

// forget drops a hold, and every one that is over: nobody has to report those. It
// returns when the last of them ended.
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
