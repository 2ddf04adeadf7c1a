package core_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/calldibs/dibs"
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
	f := newFixture(t, map[string]dibs.Policy{"slug": {Profile: hyphens{}}})
	f.must(claim("slug", "ab", alice)) // the first epoch is another name's by the new rules
	for range 3 {
		f.must(rename("slug", "a-b", alice))
		f.must(rename("slug", "ab", alice))
	}
	f.must(decommission("slug", "ab", alice))
	f.must(claim("slug", "ab", user2)) // the second one is called so in the end
	f.clock.advance(time.Second)
	for _, spelling := range []string{"a-b", "ab", "a-b", "ab", "-ab", "a--b"} {
		f.must(rename("slug", spelling, user2))
	}
	f.clock.advance(time.Second)
	g := f.reopened(map[string]dibs.Policy{"slug": {}})
	if _, err := g.Recanonicalize(g.ctx, dibs.RecanonicalizeRequest{Namespace: "slug"}); err != nil {
		t.Fatal(err)
	}
	f.clock.advance(time.Second)
	g.must(decommission("slug", "a--b", user2))

	history := g.history("slug", "a--b")
	if len(history) != 1+6+2+1 {
		t.Errorf("%d events: %+v", len(history), history)
	}
	for _, e := range history {
		if e.Entity != user2 {
			t.Errorf("the event of another name: %+v", e)
		}
	}
	for seconds, want := range []dibs.State{dibs.Active, dibs.Active, dibs.Active, dibs.Free} {
		at := newClock().now.Add(time.Duration(seconds) * time.Second)
		holder, err := g.WhoHeld(g.ctx, "slug", "a--b", at)
		if err != nil || holder.State != want || want == dibs.Active && (holder.Entity != user2 || !holder.Since.Equal(newClock().now)) {
			t.Errorf("after %d s: %+v, %v; want %s", seconds, holder, err, want)
		}
	}
}

func TestHistoryCursors(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]dibs.Policy{"slug": {Profile: lower{}}})
	f.must(claim("slug", "ours", alice), claim("slug", "theirs", user2))
	for range 5 {
		f.must(rename("slug", "OURS", alice), rename("slug", "THEIRS", user2))
		f.must(rename("slug", "ours", alice), rename("slug", "theirs", user2))
	}
	theirs, err := f.HistoryPage(f.ctx, dibs.HistoryQuery{Namespace: "slug", Value: "theirs", Limit: 2})
	if err != nil || theirs.Next == "" {
		t.Fatalf("%+v, %v", theirs, err)
	}
	// A cursor of another name shows nothing of that name.
	if page, err := f.HistoryPage(f.ctx, dibs.HistoryQuery{Namespace: "slug", Value: "ours", Cursor: theirs.Next}); err != nil || len(page.Events) != 0 {
		t.Errorf("with a cursor of another name: %+v, %v", page, err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	ours := f.name("slug", "ours").ID.String()
	for _, cursor := range []string{
		"nonsense", "!", encode([]byte("nonsense")), encode([]byte("[]")), encode([]byte(`{"res_x":{"a":"1"}}`)),
		encode(fmt.Appendf(nil, `{%q:{"a":"nowhere"}}`, ours)), encode(fmt.Appendf(nil, `{%q:{"a":"99999"}}`, ours)),
	} {
		if page, err := f.HistoryPage(f.ctx, dibs.HistoryQuery{Namespace: "slug", Value: "ours", Cursor: cursor}); !errors.Is(err, dibs.ErrBadCursor) {
			t.Errorf("with the cursor %q: %+v, %v", cursor, page, err)
		}
	}
}
