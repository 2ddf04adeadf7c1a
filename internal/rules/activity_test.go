package rules_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/internal/rules"
)

// Counts of the same minute, and of minutes of the same hour, are added up. They are due when no
// chart has them any more.
func TestActivityAddsUp(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	at := func(hour, minute int) dibs.Instant {
		return dibs.InstantOf(time.Date(2026, 3, 1, hour, minute, 0, 0, time.UTC))
	}
	for _, start := range []dibs.Instant{at(10, 58), at(10, 58), at(10, 59), at(11, 0)} {
		commit(f, rules.AddActivity(rules.Activity{
			Namespace: "acme.slug", Start: start, Refused: 3, Events: map[dibs.EventKind]uint64{dibs.EventReserved: 2, dibs.EventExpired: 1},
		}).Request)
	}
	var got []string
	for _, doc := range documents(f, dibs.KindActivity) {
		a := rules.ActivityOf(doc)
		got = append(got, fmt.Sprintf("%s %s %s %v %d, until %s", doc.Label, a.Namespace, a.Start, a.Events, a.Refused, doc.Due))
	}
	slices.Sort(got)
	want := []string{
		"h/2026-03-01T10/acme.slug acme.slug 2026-03-01T10:00:00.000Z map[expired:3 reserved:6] 9, until 2026-03-09T11:00:00.000Z",
		"h/2026-03-01T11/acme.slug acme.slug 2026-03-01T11:00:00.000Z map[expired:1 reserved:2] 3, until 2026-03-09T12:00:00.000Z",
		"m/2026-03-01T10:58/acme.slug acme.slug 2026-03-01T10:58:00.000Z map[expired:2 reserved:4] 6, until 2026-03-01T12:59:00.000Z",
		"m/2026-03-01T10:59/acme.slug acme.slug 2026-03-01T10:59:00.000Z map[expired:1 reserved:2] 3, until 2026-03-01T13:00:00.000Z",
		"m/2026-03-01T11:00/acme.slug acme.slug 2026-03-01T11:00:00.000Z map[expired:1 reserved:2] 3, until 2026-03-01T13:01:00.000Z",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A tally that is added to counts both, until the later call says.
func TestTalliesAddUp(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	hour := dibs.InstantOf(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC))
	for i := range 2 {
		commit(f, rules.AddTally(rules.Tally{Namespace: "slug", Reason: "held", Hour: hour, Count: 2}, hour.Add(time.Duration(i)*time.Hour)).Request)
	}
	docs := documents(f, dibs.KindTally)
	if len(docs) != 1 || docs[0].Rev != 2 || docs[0].Label != "2026-03-01T10/slug/held" || docs[0].Due != hour.Add(time.Hour) ||
		string(docs[0].Data) != fmt.Sprintf(`{"namespace":"slug","reason":"held","hour":%d,"count":4}`, hour) {
		t.Errorf("%+v", docs)
	}
}
