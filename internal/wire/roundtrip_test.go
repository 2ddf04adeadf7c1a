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

// crosses checks that a value of the library comes out of the wire as it went in, also
// if whoever is on the other side has more to say by then.
func crosses[V, W any](t *testing.T, write func(V) W, read func(W) (V, error)) {
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

// withUnknown adds a member that nobody knows.
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

func sure[W, V any](read func(W) V) func(W) (V, error) {
	return func(w W) (V, error) { return read(w), nil }
}

func TestEverythingCrossesTheWire(t *testing.T) {
	t.Parallel()
	crosses(t, wire.NameOf, wire.Name.Name)
	crosses(t, wire.ResultOf, wire.Result.Result)
	crosses(t, wire.AvailabilityOf, sure(wire.Availability.Availability))
	crosses(t, wire.ResolutionOf, wire.Resolution.Resolution)
	crosses(t, wire.EntityInfoOf, wire.EntityInfo.EntityInfo)
	crosses(t, wire.EventOf, wire.Event.Event)
	crosses(t, wire.HolderOf, sure(wire.Holder.Holder))
	crosses(t, wire.ConflictBucketOf, sure(wire.ConflictBucket.ConflictBucket))
	crosses(t, wire.SweepReportOf, sure(wire.SweepReport.SweepReport))
	crosses(t, wire.RecanonicalizationOf, wire.Recanonicalization.Recanonicalization)
	crosses(t, wire.ForgetRequestOf, sure(wire.ForgetRequest.ForgetRequest))
	crosses(t, wire.ForgettingOf, wire.Forgetting.Forgetting)
	crosses(t, func(p dibs.NamesPage) wire.NamesPage {
		return wire.NamesPage{Names: wire.NamesOf(p.Names), NextCursor: p.Next}
	}, wire.NamesPage.NamesPage)
	crosses(t, wire.EventsPageOf, wire.EventsPage.EventPage)
	crosses(t, func(e dibs.Error) *wire.Problem { return wire.ProblemOf(&e) }, func(p *wire.Problem) (dibs.Error, error) { return *p.DibsError(), nil })
}

// A hold shows its token to its holder; a result marks each of its names.
func TestHoldsAndResults(t *testing.T) {
	t.Parallel()
	name := dibs.Name{ID: dibs.NameID("slug", "a"), Namespace: "slug", Canonical: "a", State: dibs.Held, Remaining: time.Second}
	hold := wire.HoldOf(dibs.Hold{Name: name, Token: "secret", Replayed: true})
	if hold.Token != "secret" || !hold.Replayed || hold.RemainingMs != 1000 || hold.Key != "slug:a" {
		t.Errorf("the hold is %+v", hold)
	}
	result := wire.ResultOf(dibs.Result{Names: []dibs.Name{name}, Token: "secret", Replayed: true})
	if n := result.Names[0]; n.Token != "" || !n.Replayed {
		t.Errorf("the name of a result is %+v", n)
	}
}

// Names and events with an id that is none are refused, not taken for others.
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
			t.Errorf("number %d was taken", i)
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
