package core_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// hyphens takes hyphens out of a name, which is how some rules see it.
type hyphens struct{}

func (hyphens) Name() string { return "hyphens/1" }

func (hyphens) Canonical(value string) (string, error) {
	var canonical []byte
	for _, b := range []byte(value) {
		if b != '-' {
			canonical = append(canonical, b)
		}
	}
	return string(canonical), nil
}

// What a former row was called decides, epoch by epoch, whose history it is: also if the
// spelling that tells is on another page than the rest of the epoch.
func TestHistoryOfAFormerRow(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {Profile: hyphens{}}})
	f.Must(coretest.Claim("slug", "ab", coretest.Alice)) // the first epoch is another name's by the new rules
	for range 3 {
		f.Must(coretest.Rename("slug", "a-b", coretest.Alice))
		f.Must(coretest.Rename("slug", "ab", coretest.Alice))
	}
	f.Must(coretest.Decommission("slug", "ab", coretest.Alice))
	f.Must(coretest.Claim("slug", "ab", coretest.User2)) // the second one is called so in the end
	f.Clock.Advance(time.Second)
	for _, spelling := range []string{"a-b", "ab", "a-b", "ab", "-ab", "a--b"} {
		f.Must(coretest.Rename("slug", spelling, coretest.User2))
	}
	f.Clock.Advance(time.Second)
	g := f.Reopened(map[string]dibs.Policy{"slug": {}})
	if _, err := g.Recanonicalize(g.Ctx, dibs.RecanonicalizeRequest{Namespace: "slug"}); err != nil {
		t.Fatal(err)
	}
	f.Clock.Advance(time.Second)
	g.Must(coretest.Decommission("slug", "a--b", coretest.User2))

	history := g.HistoryOf("slug", "a--b")
	if len(history) != 1+6+2+1 {
		t.Errorf("%d events: %+v", len(history), history)
	}
	for _, e := range history {
		if e.Entity != coretest.User2 {
			t.Errorf("the event of another name: %+v", e)
		}
	}
	for seconds, want := range []dibs.State{dibs.Active, dibs.Active, dibs.Active, dibs.Free} {
		at := coretest.NewClock().Now().Add(time.Duration(seconds) * time.Second)
		holder, err := g.WhoHeld(g.Ctx, "slug", "a--b", at)
		if err != nil || holder.State != want || want == dibs.Active && (holder.Entity != coretest.User2 || !holder.Since.Equal(coretest.NewClock().Now())) {
			t.Errorf("after %d s: %+v, %v; want %s", seconds, holder, err, want)
		}
	}
}

func TestHistoryCursors(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {Profile: coretest.Lower{}}})
	f.Must(coretest.Claim("slug", "ours", coretest.Alice), coretest.Claim("slug", "theirs", coretest.User2))
	for range 5 {
		f.Must(coretest.Rename("slug", "OURS", coretest.Alice), coretest.Rename("slug", "THEIRS", coretest.User2))
		f.Must(coretest.Rename("slug", "ours", coretest.Alice), coretest.Rename("slug", "theirs", coretest.User2))
	}
	theirs, err := f.HistoryPage(f.Ctx, dibs.HistoryQuery{Namespace: "slug", Value: "theirs", Limit: 2})
	if err != nil || theirs.Next == "" {
		t.Fatalf("%+v, %v", theirs, err)
	}
	// A cursor of another name shows nothing of that name.
	if page, err := f.HistoryPage(f.Ctx, dibs.HistoryQuery{Namespace: "slug", Value: "ours", Cursor: theirs.Next}); err != nil || len(page.Events) != 0 {
		t.Errorf("with a cursor of another name: %+v, %v", page, err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	ours := f.NameOf("slug", "ours").ID.String()
	for _, cursor := range []string{
		"nonsense", "!", encode([]byte("nonsense")), encode([]byte("[]")), encode([]byte(`{"res_x":{"a":"1"}}`)),
		encode(fmt.Appendf(nil, `{%q:{"a":"nowhere"}}`, ours)), encode(fmt.Appendf(nil, `{%q:{"a":"99999"}}`, ours)),
	} {
		if page, err := f.HistoryPage(f.Ctx, dibs.HistoryQuery{Namespace: "slug", Value: "ours", Cursor: cursor}); !errors.Is(err, dibs.ErrBadCursor) {
			t.Errorf("with the cursor %q: %+v, %v", cursor, page, err)
		}
	}
}
