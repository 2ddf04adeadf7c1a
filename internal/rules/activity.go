package rules

import (
	"maps"
	"time"

	"github.com/calldibs/dibs"
)

// Activity counts what happened in one namespace in a span of time, a minute or an hour.
type Activity struct {
	Namespace string                    `json:"namespace"`
	Start     dibs.Instant              `json:"start"`
	Events    map[dibs.EventKind]uint64 `json:"events,omitempty"`
	Refused   uint64                    `json:"refused,omitempty"`
}

// Add adds counts of the same namespace and span, or of a part of the span.
func (a *Activity) Add(more Activity) {
	if a.Events == nil {
		a.Events = make(map[dibs.EventKind]uint64, len(more.Events))
	}
	for kind, n := range more.Events {
		a.Events[kind] += n
	}
	a.Refused += more.Refused
}

// ActivityKept returns how long counts are kept from the start of their span. A chart of the last
// hour or week then has all of its spans.
func ActivityKept(per time.Duration) time.Duration {
	if per == time.Minute {
		return 2 * time.Hour
	}
	return 8 * 24 * time.Hour
}

// StartOf returns the start of the minute or hour of an instant.
func StartOf(at dibs.Instant, per time.Duration) dibs.Instant {
	return at - at%dibs.Instant(per.Milliseconds())
}

// Label orders counts by time, minutes apart from hours, so that a span of time is one range. The
// label without a namespace is the prefix of all of that minute or hour.
func (a Activity) Label(per time.Duration) string {
	if per == time.Minute {
		return "m/" + a.Start.Time().Format("2006-01-02T15:04") + "/" + a.Namespace
	}
	return "h/" + HourLabel(a.Start) + "/" + a.Namespace
}

// Ref returns the address of the stored counts of the minute or hour.
func (a Activity) Ref(per time.Duration) dibs.Ref {
	scope, _, _ := splitNamespace(a.Namespace) // that of overflowing counts has no scope
	return dibs.Ref{Kind: dibs.KindActivity, Scope: scope, ID: recordID("activity\x00" + a.Label(per))}
}

// ActivityOf returns the counts in a document. Counts that cannot be read are zero.
func ActivityOf(doc *dibs.Document) Activity {
	a, _ := decodeDocument[Activity](doc)
	return a
}

// AddActivity adds the counts of a minute to those that are stored, of the minute and of its hour.
// The sweeper deletes them when their time is over.
func AddActivity(minute Activity) *Job[struct{}] {
	spans := []time.Duration{time.Minute, time.Hour}
	p := &preparer{}
	for _, per := range spans {
		p.want(minute.Ref(per))
	}
	return newJob(p, func(v *view) (struct{}, *dibs.Error) {
		for _, per := range spans {
			ref := minute.Ref(per)
			sum, rev, _ := readDocument[Activity](v, ref) // one that cannot be read starts at zero
			sum.Namespace, sum.Start, sum.Events = minute.Namespace, StartOf(minute.Start, per), maps.Clone(sum.Events)
			sum.Add(minute)
			writeDocument(v, ref, minute.Label(per), rev, sum.Start.Add(per+ActivityKept(per)), sum)
		}
		return struct{}{}, nil
	})
}
