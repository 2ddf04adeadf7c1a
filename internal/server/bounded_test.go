package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/limit"
	"github.com/calldibs/dibs/internal/wire"
)

// commitEvents commits n events of a name of the namespace "slug" at once.
func (r *rig) commitEvents(canonical string, n int) {
	r.Helper()
	record := dibs.NameRecord{
		ID: dibs.NameID("slug", canonical), Namespace: "slug", Canonical: canonical, Value: canonical, State: dibs.Active, Status: dibs.StatusConfirmed,
		Owner: dibs.Entity{Type: "user", ID: "1"}, Epoch: 1, Rev: uint64(n), Established: true,
	}
	group := dibs.Group{Reads: []dibs.Read{{Ref: record.Ref()}}, Writes: []dibs.Write{{Record: &record}}}
	for i := range n {
		group.Events = append(group.Events, dibs.Event{
			Kind: dibs.EventRespelled, At: dibs.Instant(i + 1), ID: record.ID, Namespace: "slug", Canonical: canonical, Value: canonical, Rev: uint64(i) + 1, Epoch: 1,
			After: dibs.Snapshot{State: dibs.Active, Status: dibs.StatusConfirmed, Epoch: 1, Entity: record.Owner},
		})
	}
	if outcomes, err := r.store.Store.Commit(r.Context(), []dibs.Group{group}); err != nil || outcomes[0] != dibs.Committed {
		r.Fatal(outcomes, err)
	}
}

func (r *rig) getEvents(path string) (page wire.EventsPage) {
	r.Helper()
	res, text := r.send(http.MethodGet, path, nil, "")
	if err := json.Unmarshal([]byte(text), &page); err != nil || res.status != http.StatusOK {
		r.Fatalf("%s is %d: %.200s", path, res.status, text)
	}
	return page
}

// For the feed of one namespace among many events of others, each call scans a bounded number of
// events, says that there is more, and counts as what it may scan.
func TestEventsOfANamespaceAmongOthers(t *testing.T) {
	t.Parallel()
	notRaced(t)
	r := newRig(t, onSQLite, nil)
	r.commitEvents("others", 3500)
	r.reserve("acme.slug", "ours")
	page, calls := wire.EventsPage{More: true}, 0
	for ; page.More; calls++ {
		if len(page.Events) > 0 {
			t.Fatalf("call %d found %+v", calls, page.Events)
		}
		page = r.getEvents("/v1/events?namespace=acme.slug&after=" + page.NextCursor)
	}
	if calls != 4 || len(page.Events) != 1 || page.Events[0].Key != "acme.slug:ours" {
		t.Errorf("%d calls, and then %+v", calls, page)
	}
	if end := r.getEvents("/v1/events?namespace=acme.slug&after=" + page.NextCursor); end.More || len(end.Events) > 0 {
		t.Errorf("behind the end there is %+v", end)
	}
}

func TestEventsOfANamespaceAreCounted(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, people("ann"), limited(limit.Limits{Reads: perHour(20)}))
	for range 2 {
		if res, text := r.send(http.MethodGet, "/v1/events?namespace=slug", as("ann", ""), ""); res.status != http.StatusOK {
			t.Fatalf("%d %s", res.status, text)
		}
	}
	res, text := r.send(http.MethodGet, "/v1/events?namespace=slug", as("ann", ""), "")
	r.wantLimited(res, text, "reads")
}

// A stream of one namespace scans the events of others once, sends its position, and resumes
// there.
func TestStreamScansOthersOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, nil)
	r.commitEvents("others", 2500)
	s := openStream(r, "/v1/events?namespace=acme.slug", "")
	var at string
	end := string(r.latest())
	for at != end {
		fields, err := s.message()
		if err != nil {
			t.Fatal(err)
		}
		if fields["data"] != "" {
			t.Fatalf("an event of others: %v", fields)
		}
		if fields["id"] != "" {
			at = fields["id"]
		}
	}
	s.stop()
	s = openStream(r, "/v1/events?namespace=acme.slug", at)
	r.commitEvents("more", 30)
	for end = string(r.latest()); at != end; { // also while it waits for events
		fields, err := s.message()
		if err != nil {
			t.Fatal(err)
		}
		if fields["id"] != "" {
			at = fields["id"]
		}
	}
	r.reserve("acme.slug", "ours")
	if e := s.next(); e.Key != "acme.slug:ours" {
		t.Errorf("the event is of %s", e.Key)
	}
}

// latest returns the end of the feed.
func (r *rig) latest() dibs.Cursor {
	r.Helper()
	cursor, err := r.store.Latest(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	return cursor
}

// A long history comes in pages, by path and by body, and shows the holder at a moment.
func TestLongHistory(t *testing.T) {
	t.Parallel()
	notRaced(t)
	for _, e := range engines() {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, e, nil)
			r.commitEvents("long", 2300)
			path := "/v1/names/slug/long/history"
			first := r.getEvents(path)
			if len(first.Events) != 1000 || first.NextCursor == "" || first.Events[999].Revision != 2300 || first.Events[0].Revision != 1301 {
				t.Fatalf("%d events, then %q", len(first.Events), first.NextCursor)
			}
			second := r.getEvents(path + "?limit=700&cursor=" + url.QueryEscape(first.NextCursor))
			if len(second.Events) != 700 || second.Events[699].Revision != 1300 {
				t.Fatalf("%d events, the last one %+v", len(second.Events), second.Events[699])
			}
			body := fmt.Sprintf(`{"namespace": "slug", "value": "long", "limit": 1000, "cursor": %q}`, second.NextCursor)
			var third wire.EventsPage
			if res, text := r.send(http.MethodPost, "/v1/names/history", nil, body); json.Unmarshal([]byte(text), &third) != nil || res.status != http.StatusOK {
				t.Fatalf("%d %.200s", res.status, text)
			}
			if len(third.Events) != 600 || third.NextCursor != "" || third.Events[0].Revision != 1 {
				t.Errorf("%d events, then %q", len(third.Events), third.NextCursor)
			}
			if res, text := r.send(http.MethodGet, path+"?cursor=nonsense", nil, ""); res.status != http.StatusUnprocessableEntity {
				t.Errorf("a bad cursor is %d: %s", res.status, text)
			}
			var held struct{ Holder wire.Holder }
			res, text := r.send(http.MethodGet, path+"?at=1970-01-01T00:00:00.005Z", nil, "")
			if json.Unmarshal([]byte(text), &held) != nil || held.Holder.Entity == nil || held.Holder.Since != "1970-01-01T00:00:00.001Z" {
				t.Errorf("the holder is %d: %s", res.status, text)
			}
		})
	}
}

// A time as a cursor begins there.
func TestEventsFromATime(t *testing.T) {
	t.Parallel()
	r := newRig(t, onSQLite, nil)
	r.reserve("slug", "alice")
	at, err := time.Parse(time.RFC3339, r.getEvents("/v1/events").Events[0].At)
	if err != nil {
		t.Fatal(err)
	}
	if page := r.getEvents("/v1/events?after=" + at.Format(time.RFC3339Nano)); len(page.Events) != 1 {
		t.Errorf("from %v on there are %v", at, page.Events)
	}
	page := r.getEvents("/v1/events?after=" + at.Add(time.Millisecond).Format(time.RFC3339Nano))
	if len(page.Events) != 0 || page.NextCursor != r.getEvents("/v1/events").NextCursor {
		t.Errorf("after %v there is %v", at, page)
	}
	res, text := r.send(http.MethodGet, "/v1/events?after=yesterday", nil, "")
	if res.status != http.StatusUnprocessableEntity || !strings.Contains(text, "INVALID_CURSOR") {
		t.Errorf("yesterday is %d %s", res.status, text)
	}
}
