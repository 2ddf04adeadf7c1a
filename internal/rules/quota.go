package rules

import (
	"fmt"
	"slices"

	"github.com/calldibs/dibs"
)

// quota lists the live holds of one principal in a namespace.
type quota struct {
	Holds []counted `json:"holds"`
}

// counted is a hold that counts.
type counted struct {
	ID dibs.ID `json:"id"`
	// Until is when the hold is over by itself. It is zero for a hold with a witness: that becomes
	// a suspect, which still holds the name.
	Until dibs.Instant `json:"until,omitempty"`
}

// quotaRef returns the ref and the label of a principal's quota.
func quotaRef(namespace, scope, principal string) (ref dibs.Ref, label string) {
	label = namespace + "/" + principal // no namespace contains a slash
	return dibs.Ref{Kind: dibs.KindQuota, Scope: scope, ID: recordID("quota\x00" + label)}, label
}

// checkQuota refuses a hold if the principal has as many as the policy allows.
func (v *view) checkQuota(r *reservation) *dibs.Error {
	if r.policy.MaxHolds == 0 {
		return nil
	}
	ref, _ := quotaRef(r.namespace, r.scope, r.principal.Name)
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
	ref, label := quotaRef(n.Namespace, n.Scope, n.Principal)
	q, rev := v.readQuota(ref)
	if rev == 0 {
		// A quota of the same principal may have been deleted, and the two must not be confused. A
		// namespace record that cannot be read fails the decision elsewhere.
		record, _ := v.readNamespaceRecord(namespaceInfo{namespace: n.Namespace, scope: n.Scope})
		rev = record.Rev
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
func (v *view) dropQuota(n *nameState, ns namespaceInfo) *dibs.Error {
	ref, _ := quotaRef(n.Namespace, n.Scope, n.Principal)
	if v.absent(ref) {
		return nil
	}
	q, rev := v.readQuota(ref)
	q.drop(n.ID, v.now)
	if len(q.Holds) > 0 {
		return nil
	}
	record, err := v.readNamespaceRecord(ns)
	if err != nil {
		return err
	}
	v.put(ref, nil)
	v.raiseRecord(ns, record, 0, rev)
	return nil
}
