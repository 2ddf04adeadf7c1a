package pgstore_test

import (
	"slices"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// life calls every verb, and returns the states of the names after it.
func life(t *testing.T, reg *dibs.Registry) map[string]dibs.State {
	t.Helper()
	ctx, name, result := t.Context(), must[dibs.Name](t), must[dibs.Result](t)
	other := numbered(102)
	hold := must[dibs.Hold](t)(reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "spring"}))
	name(reg.Extend(ctx, dibs.Extend{ID: hold.ID, Token: hold.Token, TTL: dibs.For(time.Hour)}))
	name(reg.Confirm(ctx, dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: product}))
	name(reg.Rename(ctx, dibs.Rename{Namespace: "slug", Entity: product, Value: "summer"}))
	name(reg.Claim(ctx, claim("autumn", other)))
	result(reg.Swap(ctx, dibs.Swap{
		Namespace: "slug", A: dibs.Named{Value: "summer", Entity: product}, B: dibs.Named{Value: "autumn", Entity: other},
	}))
	result(reg.Archive(ctx, dibs.Archive{Entity: product}))
	result(reg.Restore(ctx, dibs.Restore{Entity: product}))
	name(reg.Decommission(ctx, dibs.Decommission{Namespace: "slug", Value: "spring", Entity: product}))
	result(reg.Delete(ctx, dibs.Delete{Entity: other}))
	name(reg.Transfer(ctx, dibs.Transfer{Namespace: "slug", Value: "autumn", From: product, To: numbered(103)}))
	second := must[dibs.Hold](t)(reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "winter"}))
	name(reg.Release(ctx, dibs.Release{ID: second.ID, Token: second.Token}))
	all := must[[]dibs.Hold](t)(reg.ReserveAll(ctx, dibs.ReserveAll{Reservations: []dibs.Reserve{
		{Namespace: "slug", Value: "monday"}, {Namespace: "slug", Value: "tuesday"},
	}}))
	must[dibs.Hold](t)(reg.ReserveFirst(ctx, dibs.ReserveFirst{Namespace: "slug", Values: []string{"monday", "wednesday"}}))
	must[[]dibs.Result](t)(reg.Apply(ctx,
		dibs.Confirm{ID: all[0].ID, Token: all[0].Token, Entity: numbered(104)},
		dibs.Rename{Namespace: "slug", Entity: numbered(104), Value: "sunday"},
		dibs.Release{ID: all[1].ID, Token: all[1].Token},
	))
	return map[string]dibs.State{
		"spring": dibs.Free, "summer": dibs.Free, "autumn": dibs.Active, "winter": dibs.Free,
		"monday": dibs.Alias, "tuesday": dibs.Free, "wednesday": dibs.Held, "sunday": dibs.Active,
	}
}

func TestEveryVerbJoinsTheTransaction(t *testing.T) {
	bothWays(t, dibs.Config{}, func(t *testing.T, s *shop) {
		ctx := t.Context()
		feed := func(reg *dibs.Registry) []dibs.Event {
			return must[dibs.EventPage](t)(reg.Events(ctx, dibs.FeedQuery{Limit: 1000})).Events
		}
		before := len(feed(s.reg))

		rolledBack, bound := s.tx(t, "")
		states := life(t, bound)
		s.insert(t, rolledBack, "101")
		if err := rolledBack.rollback(); err != nil {
			t.Fatal(err)
		}
		// After the rollback all names are free, and the feed has no gap.
		tx, bound := s.tx(t, "")
		life(t, bound)
		s.insert(t, tx, "101")
		inside := feed(bound)
		for value, state := range states {
			if got := coretest.StateOf(t, bound, value); got != state {
				t.Errorf("inside: %s is %s, want %s", value, got, state)
			}
			if got := coretest.StateOf(t, s.reg, value); got != dibs.Free {
				t.Errorf("outside, before the end: %s is %s", value, got)
			}
		}
		if n := len(feed(s.reg)); n != before {
			t.Errorf("outside, before the end: %d events, want %d", n, before)
		}
		s.commit(t, tx)
		for value, state := range states {
			if got := coretest.StateOf(t, s.reg, value); got != state {
				t.Errorf("outside, after the end: %s is %s, want %s", value, got, state)
			}
		}
		after := feed(s.reg)
		sameEvents(t, inside, after)
		for i, event := range after[1:] {
			page := must[dibs.EventPage](t)(s.reg.Events(ctx, dibs.FeedQuery{After: after[i].Cursor, Limit: 1}))
			if len(page.Events) != 1 || page.Events[0].Cursor != event.Cursor {
				t.Errorf("after %s: %+v, want %s", after[i].Cursor, page.Events, event.Cursor)
			}
		}
		if s.rows(t, "101") != 1 {
			t.Error("the row of the program is missing")
		}
	})
}

// sameEvents compares the events inside the transaction with those after its commit.
func sameEvents(t *testing.T, inside, outside []dibs.Event) {
	t.Helper()
	plain := func(events []dibs.Event) (list []string) {
		for _, e := range events {
			list = append(list, string(e.Kind)+" "+e.Canonical)
		}
		return list
	}
	if a, b := plain(inside), plain(outside); !slices.Equal(a, b) {
		t.Errorf("inside:\n%v\noutside:\n%v", a, b)
	}
}

func TestTransactionReadsItsOwnWrites(t *testing.T) {
	bothWays(t, dibs.Config{}, func(t *testing.T, s *shop) {
		ctx := t.Context()
		tx, bound := s.tx(t, "")
		hold := must[dibs.Hold](t)(bound.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "spring", Entity: product}))
		must[dibs.Name](t)(bound.Confirm(ctx, dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: product}))
		confirmed := must[dibs.Name](t)(bound.Get(ctx, dibs.Lookup{ID: hold.ID})).ConfirmedAt
		must[dibs.Name](t)(bound.Rename(ctx, dibs.Rename{Namespace: "slug", Entity: product, Value: "summer"}))

		moved := must[dibs.Resolution](t)(bound.Resolve(ctx, "slug", "spring"))
		if moved.Status != 301 || moved.To == nil || moved.To.Value != "summer" {
			t.Errorf("resolved to %+v", moved)
		}
		info := must[dibs.EntityInfo](t)(bound.Entity(ctx, "", product))
		if len(info.Names) != 2 || info.Version != 2 {
			t.Errorf("the entity is %+v", info)
		}
		if history := must[[]dibs.Event](t)(bound.History(ctx, "slug", "spring")); len(history) != 3 {
			t.Errorf("%d events, want reserved, confirmed and renamed: %+v", len(history), history)
		}
		if holder := must[dibs.Holder](t)(bound.WhoHeld(ctx, "slug", "spring", confirmed)); holder.Entity != product {
			t.Errorf("held by %+v", holder)
		}
		page := must[dibs.NamesPage](t)(bound.List(ctx, dibs.NamesQuery{Namespace: "slug", Prefix: "s"}))
		if len(page.Names) != 2 {
			t.Errorf("listed %+v", page.Names)
		}
		checks := must[[]dibs.Availability](t)(bound.Check(ctx, dibs.CheckRequest{Namespace: "slug", Values: []string{"summer", "winter"}}))
		if checks[0].Available || !checks[1].Available {
			t.Errorf("%+v", checks)
		}
		// The feed, read page by page, ends with the events of the transaction.
		var cursor dibs.Cursor
		var kinds []dibs.EventKind
		for {
			events := must[dibs.EventPage](t)(bound.Events(ctx, dibs.FeedQuery{After: cursor, Limit: 1})).Events
			if len(events) == 0 {
				break
			}
			kinds, cursor = append(kinds, events[0].Kind), events[0].Cursor
		}
		if all := must[dibs.EventPage](t)(bound.Events(ctx, dibs.FeedQuery{})).Events; len(kinds) != len(all) {
			t.Errorf("page by page %v, at once %d", kinds, len(all))
		}
		if _, err := s.reg.Events(ctx, dibs.FeedQuery{After: cursor}); err == nil {
			t.Error("a cursor of the transaction is valid outside of it")
		}
		must[dibs.Result](t)(bound.Delete(ctx, dibs.Delete{Entity: product}))
		if got := coretest.StateOf(t, bound, "summer"); got != dibs.Free {
			t.Errorf("the deleted product's name is %s", got)
		}
		must[dibs.Name](t)(bound.Claim(ctx, claim("summer", numbered(102))))
		s.commit(t, tx)
		if got := must[dibs.Name](t)(s.reg.Get(ctx, dibs.Lookup{Namespace: "slug", Value: "summer"})); got.Entity != numbered(102) {
			t.Errorf("summer is %+v", got)
		}
	})
}
