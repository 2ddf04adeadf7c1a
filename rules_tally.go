package dibs

import "time"

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
	ref := Ref{KindTally, scope, recordID("tally\x00" + more.label())}
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

func hourOf(now Instant) Instant {
	const hour = Instant(time.Hour / time.Millisecond)
	return now - now%hour
}
