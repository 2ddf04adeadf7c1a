package wire_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

// roundTrip checks that a value of the library survives encoding and decoding, even if a newer
// version adds members.
func roundTrip[V, W any](t *testing.T, write func(V) W, read func(W) (V, error)) {
	t.Helper()
	t.Run(reflect.TypeFor[V]().Name(), func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			value := anything[V]().Draw(t, "value")
			data, err := json.Marshal(write(value))
			if err != nil {
				t.Fatal(err)
			}
			var written W
			if err := json.Unmarshal(withUnknown(t, data), &written); err != nil {
				t.Fatal(err)
			}
			got, err := read(written)
			if err != nil {
				t.Fatalf("%s: %v", data, err)
			}
			if !reflect.DeepEqual(got, value) {
				t.Fatalf("%s:\n got %+v\nwant %+v", data, got, value)
			}
		})
	})
}

// withUnknown adds an unknown member.
func withUnknown(t *rapid.T, data []byte) []byte {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		t.Fatal(err)
	}
	members["laterVersion"] = json.RawMessage(`{"a":[1]}`)
	data, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func noError[W, V any](read func(W) V) func(W) (V, error) {
	return func(w W) (V, error) { return read(w), nil }
}

func TestRoundTrips(t *testing.T) {
	t.Parallel()
	roundTrip(t, wire.NameOf, wire.Name.Name)
	roundTrip(t, wire.ResultOf, wire.Result.Result)
	roundTrip(t, wire.AvailabilityOf, noError(wire.Availability.Availability))
	roundTrip(t, wire.ResolutionOf, wire.Resolution.Resolution)
	roundTrip(t, wire.EntityInfoOf, wire.EntityInfo.EntityInfo)
	roundTrip(t, wire.EventOf, wire.Event.Event)
	roundTrip(t, wire.HolderOf, noError(wire.Holder.Holder))
	roundTrip(t, wire.ConflictBucketOf, noError(wire.ConflictBucket.ConflictBucket))
	roundTrip(t, wire.SweepReportOf, noError(wire.SweepReport.SweepReport))
	roundTrip(t, wire.RecanonicalizationOf, wire.Recanonicalization.Recanonicalization)
	roundTrip(t, wire.ForgetRequestOf, noError(wire.ForgetRequest.ForgetRequest))
	roundTrip(t, wire.ForgettingOf, wire.Forgetting.Forgetting)
	roundTrip(t, func(p dibs.NamesPage) wire.NamesPage {
		return wire.NamesPage{Names: wire.NamesOf(p.Names), NextCursor: p.Next}
	}, wire.NamesPage.NamesPage)
	roundTrip(t, wire.EventsPageOf, wire.EventsPage.EventPage)
	roundTrip(t, func(e dibs.Error) *wire.Problem { return wire.ProblemOf(&e) }, func(p *wire.Problem) (dibs.Error, error) { return *p.DibsError(), nil })
}

// Each name of a result has the replayed mark, and none has the token.
func TestNamesOfResults(t *testing.T) {
	t.Parallel()
	name := dibs.Name{ID: dibs.NameID("slug", "a"), Namespace: "slug", Canonical: "a", State: dibs.Held, Remaining: time.Second}
	result := wire.ResultOf(dibs.Result{Names: []dibs.Name{name}, Token: "secret", Replayed: true})
	if n := result.Names[0]; n.Token != "" || !n.Replayed || n.RemainingMs != 1000 || n.Key != "slug:a" {
		t.Errorf("the name of a result is %+v", n)
	}
}

// Names and events with an invalid id are refused.
func TestBadIDs(t *testing.T) {
	t.Parallel()
	bad := wire.Name{ReservationID: "res_x"}
	_, nameErr := bad.Name()
	_, resultErr := wire.Result{Names: []wire.Name{bad}}.Result()
	_, resolutionErr := wire.Resolution{Active: &bad}.Resolution()
	_, entityErr := wire.EntityInfo{Names: []wire.Name{bad}}.EntityInfo()
	_, eventErr := wire.EventsPage{Events: []wire.Event{{ReservationID: "x"}}}.EventPage()
	_, findingErr := wire.Recanonicalization{Findings: []wire.Finding{{Name: bad}}}.Recanonicalization()
	_, erasedErr := wire.Forgetting{Erased: []wire.Name{bad}}.Forgetting()
	_, redactedErr := wire.Forgetting{Redacted: []wire.Name{bad}}.Forgetting()
	for i, err := range []error{nameErr, resultErr, resolutionErr, entityErr, eventErr, findingErr, erasedErr, redactedErr} {
		if err == nil {
			t.Errorf("number %d was accepted", i)
		}
	}
}

func TestResolutionOfAMovedName(t *testing.T) {
	t.Parallel()
	to := dibs.Name{ID: dibs.NameID("slug", "b"), Namespace: "slug", Canonical: "b"}
	w := wire.ResolutionOf(dibs.Resolution{Outcome: dibs.ResolveMoved, Canonical: "a", To: &to, Status: 301})
	if w.To != "b" || w.Active == nil || w.Active.Key != "slug:b" {
		t.Errorf("got %+v", w)
	}
}
