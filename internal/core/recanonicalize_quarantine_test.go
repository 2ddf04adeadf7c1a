package core_test

import (
	"testing"
	"time"

	"github.com/calldibs/dibs"
)

// A name in quarantine that the new rules refuse is in nobody's way: nobody can ask for
// it any more. It waits for its end where it is.
func TestRecanonicalizeLeavesInvalidQuarantines(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]dibs.Policy{"slug": {HoldHistory: time.Hour, Quarantine: time.Hour}})
	f.must(claim("slug", "Alice", user1), claim("slug", "what!", user2), decommission("slug", "what!", user2))
	g := f.reopened(folded())
	if report := g.recanonicalize(false); report.Looked != 2 || report.Done != 1 || report.Counts[dibs.FindingInvalid] != 0 {
		t.Errorf("%+v", report)
	}
	g.must(claim("slug", "new", user3))
	f.wantState("slug", "what!", dibs.Quarantined)
	f.clock.advance(2 * time.Hour)
	f.sweep()
	f.wantState("slug", "what!", dibs.Free)
}
