package rules_test

import (
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// A name in quarantine that the new rules refuse is in nobody's way: nobody can ask for
// it any more. It waits for its end where it is.
func TestRecanonicalizeLeavesInvalidQuarantines(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {HoldHistory: time.Hour, Quarantine: time.Hour}})
	f.Must(coretest.Claim("slug", "Alice", coretest.User1), coretest.Claim("slug", "what!", coretest.User2), coretest.Decommission("slug", "what!", coretest.User2))
	g := f.Reopened(folded())
	if report := g.MustRecanonicalize(false); report.Looked != 2 || report.Done != 1 || report.Counts[dibs.FindingInvalid] != 0 {
		t.Errorf("%+v", report)
	}
	g.Must(coretest.Claim("slug", "new", coretest.User3))
	f.WantState("slug", "what!", dibs.Quarantined)
	f.Clock.Advance(2 * time.Hour)
	f.SweepAll()
	f.WantState("slug", "what!", dibs.Free)
}
