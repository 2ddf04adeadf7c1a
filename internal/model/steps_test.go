package model_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/model"
)

// sweep sweeps a side, completely or one record only. The model learns which questions the
// witness got, and which purgeable names were purged. The next observe finds any other
// change.
func (w *world) sweep(s *side, entirely bool) {
	w.testimony = nil
	for {
		limit := 1
		if entirely {
			limit = 1000
		}
		report, err := s.registry.Sweep(context.Background(), limit)
		if err != nil {
			w.t.Fatalf("sweep: %v", err)
		}
		if !entirely || (report.Changed == 0 && report.Settled == 0 && !report.More) {
			break
		}
	}
	w.inOrderOfEffect(s)
	for _, said := range w.testimony {
		key := model.Key{Namespace: said.hold.Namespace, Canonical: plain(said.hold.Namespace, said.hold.Canonical)}
		if name, _ := w.model.Get(w.now, key); name.State != dibs.Suspect || name.Epoch != said.hold.Epoch || name.Intended != said.hold.Entity {
			w.t.Fatalf("the witness was asked about %+v, but the name is %+v", said.hold, name)
		}
		w.model.Testify(w.now, id(key), said.verdict)
		s.asked[doubtful{key, said.hold.Epoch, ms(said.hold.ExpiresAt)}] = true
	}
	s.feed.read(w, s.registry)
	for _, key := range w.model.Keys(func(model.Name) bool { return true }) {
		if !w.model.Purgeable(w.now, key) {
			continue
		}
		_, err := s.registry.Get(context.Background(), dibs.Lookup{Namespace: key.Namespace, Value: key.Canonical})
		if entirely && err == nil {
			w.t.Fatalf("%+v was not purged by a complete sweep", key)
		}
		if err != nil {
			w.model.Purge(key)
			s.feed.forget(key)
		}
	}
	if entirely {
		w.checkFold(s)
		w.checkAsked(s)
	}
	if !s.swept {
		w.t.Logf("swept, completely %v: the witness was asked %d times", entirely, len(w.testimony))
	}
}

// inOrderOfEffect sorts the witness's answers into an order in which they can have been
// applied. Witnesses are asked concurrently: of two names that exist for one entity, either
// may have come first, and the other one then stays suspect.
func (w *world) inOrderOfEffect(s *side) {
	suspect := func(said testimony) int {
		name, err := s.registry.Get(context.Background(), dibs.Lookup{ID: said.hold.ID})
		if err == nil && name.State == dibs.Suspect {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(w.testimony, func(a, b testimony) int { return suspect(a) - suspect(b) })
}

// doubtful identifies one expiry of a hold: after an extension it may expire again.
type doubtful struct {
	key       model.Key
	epoch     uint64
	expiresAt int64
}

// checkAsked checks that a complete sweep asks the witness about every suspect.
func (w *world) checkAsked(s *side) {
	for _, key := range w.model.Keys(func(n model.Name) bool { return n.State == dibs.Suspect }) {
		name, _ := w.model.Get(w.now, key)
		if !s.asked[doubtful{key, name.Epoch, name.ExpiresAt}] {
			w.t.Fatalf("%+v is suspect after a complete sweep, but the witness was not asked", key)
		}
	}
}

// askWhoHeld asks who had a name at a time in the past.
func (w *world) askWhoHeld() {
	for range 2 {
		namespace, value := w.drawNamespace(), draw(w, "value", "a", "b", "c", "4")
		key, _ := w.key(namespace, value)
		at := rapid.Int64Range(w.start-1, w.now).Draw(w.t, "past moment")
		if moments := w.model.Past(key); len(moments) > 0 {
			at = min(w.now, draw(w, "moment", moments...).At+draw[int64](w, "off by", 0, -1, 1))
		}
		at = max(at, w.model.ErasedAt(key))
		were := w.model.WhoHeldOneOf(w.now, key, at)
		for _, s := range w.sides {
			holder, err := s.registry.WhoHeld(context.Background(), namespace, value, dibs.Instant(at).Time())
			if err != nil {
				w.t.Fatalf("who held: %v", err)
			}
			told := model.Moment{State: holder.State, Entity: holder.Entity, Epoch: holder.Epoch}
			if !slices.ContainsFunc(were, func(was model.Moment) bool {
				want := model.Moment{State: was.State, Entity: was.Entity, Epoch: was.Epoch}
				return told == want || (told.State == dibs.Free && want.State == dibs.Free)
			}) {
				w.t.Fatalf("who held %s at %s: expected %+v, but %+v", namespace+":"+value, w.since(at), were, told)
			}
		}
	}
}

// checkDryRun compares a check with a dry run of Reserve. The principal has no holds,
// because a check does not count any.
func (w *world) checkDryRun() {
	namespace, value, entity := w.drawNamespace(), w.drawValue(), w.drawIntended()
	for _, s := range w.sides {
		checks, err := s.registry.Check(context.Background(), dibs.CheckRequest{Namespace: namespace, Values: []string{value}, Entity: entity})
		if err != nil {
			w.t.Fatalf("check: %v", err)
		}
		_, err = s.registry.As(dibs.Principal{Name: "probe"}).DryRun(context.Background(),
			dibs.Reserve{Namespace: namespace, Value: value, Entity: entity, Token: "token-of-the-probe"})
		if checks[0].Available != (err == nil) {
			w.t.Fatalf("check of %s:%s for %q says %+v, a dry run %v", namespace, value, entity.ID, checks[0], err)
		}
	}
}

// instructWitness changes the witness's answers.
func (w *world) instructWitness() {
	value := draw(w, "about", "a", "b", "c", "A", "4")
	w.script[value] = draw(w, "says", dibs.Unknown, dibs.Absent, dibs.Exists(w.drawEntity()))
	w.t.Logf("the witness will say of %s: %+v", value, w.script[value])
}

// describe formats a command without empty fields, and with keys instead of ids.
func (w *world) describe(command dibs.Command) string {
	shorten := []string{" CorrelationID: Meta:map[] Field: OverrideReserved:false", "", " CorrelationID: Field: OverrideReserved:false", ""}
	for _, namespace := range namespaces {
		for _, value := range values {
			key := model.Key{Namespace: namespace, Canonical: value}
			shorten = append(shorten, id(key).String(), namespace+":"+value)
		}
	}
	return strings.NewReplacer(shorten...).Replace(fmt.Sprintf("%T%+v", command, command))
}
