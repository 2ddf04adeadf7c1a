package rules_test

import (
	"fmt"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// A group writes names that stop being active before the names that become active: engines with a
// unique index need that order.
func TestYieldsFirst(t *testing.T) {
	t.Parallel()
	f, s := coretest.NewSpy(t, nil)
	groups := s.LastGroups()
	yields := func() (values []string) {
		rest := false
		for _, w := range (*groups)[0].Writes {
			if w.Yields && rest {
				t.Error("a write that yields follows one that does not")
			}
			if rest = rest || !w.Yields; w.Yields {
				values = append(values, w.Record.(*dibs.NameRecord).Canonical)
			}
		}
		return values
	}
	want := func(command dibs.Command, values ...string) {
		t.Helper()
		f.Must(command)
		if got := yields(); fmt.Sprint(got) != fmt.Sprint(values) {
			t.Errorf("%#v: %v yield, want %v", command, got, values)
		}
	}
	want(coretest.Claim("slug", "a", coretest.User1))
	want(coretest.Claim("slug", "b", coretest.User2))
	want(coretest.Rename("slug", "c", coretest.User1), "a")
	want(coretest.Rename("slug", "a", coretest.User1), "c")
	want(dibs.Swap{Namespace: "slug", A: dibs.Named{Value: "a", Entity: coretest.User1}, B: dibs.Named{Value: "b", Entity: coretest.User2}}, "a", "b")
	want(dibs.Transfer{Namespace: "slug", Value: "a", From: coretest.User2, To: coretest.User3}, "a")
	want(dibs.Archive{Entity: coretest.User3})
	want(coretest.Decommission("slug", "a", coretest.User3), "a")
	want(dibs.Delete{Entity: coretest.User1}, "b")
}
