package rules

import (
	"time"

	"github.com/calldibs/dibs"
)

// Tally counts refused attempts of one kind in one hour.
type Tally struct {
	Namespace string       `json:"namespace"`
	Reason    string       `json:"reason"`
	Hour      dibs.Instant `json:"hour"`
	Count     uint64       `json:"count"`
}

// Label orders tallies by hour, so that a span of time is one range.
func (t Tally) Label() string {
	return HourLabel(t.Hour) + "/" + t.Namespace + "/" + t.Reason
}

// HourLabel returns the prefix of the labels of the tallies of an instant's hour.
func HourLabel(at dibs.Instant) string { return at.Time().Format("2006-01-02T15") }

// HourOf returns the beginning of an instant's hour.
func HourOf(now dibs.Instant) dibs.Instant {
	const hour = dibs.Instant(time.Hour / time.Millisecond)
	return now - now%hour
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
