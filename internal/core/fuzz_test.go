package core_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/core"
	"github.com/calldibs/dibs/memstore"
)

// For any input Reserve returns a *dibs.Error and stores nothing, or reserves exactly what was asked
// for.
func FuzzReserve(f *testing.F) {
	f.Add("slug", "alice-bob", "a-token-of-the-caller", "wedding", "42", "corr_123")
	f.Add("acme.slug", "Ünïcode & Füße", "", "", "", "")
	f.Add("a.b.c.d.e.f.g.h.i", "x", "short", "t", "", "\x00")
	f.Add("Slug", strings.Repeat("x", 1025), "sixteen chars ok", "", "1", "")
	f.Add("slug:", "a:b", "0123456789abcdef", "a/b", "c", "\xff")
	f.Fuzz(func(t *testing.T, namespace, value, token, entityType, entityID, correlation string) {
		ctx := context.Background()
		reg, err := core.Open(memstore.New(memstore.Config{}), dibs.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer reg.Close()
		hold, err := reg.Reserve(ctx, dibs.Reserve{
			Namespace: namespace, Value: value, Token: token,
			Entity: dibs.Entity{Type: entityType, ID: entityID}, CorrelationID: correlation,
		})
		if err != nil {
			refused, ok := errors.AsType[*dibs.Error](err)
			if !ok || refused.Message == "" || !utf8.ValidString(err.Error()) {
				t.Fatalf("the refusal is a %T: %v", err, err)
			}
			if token != "" && len(token) >= 16 && strings.Contains(err.Error(), token) && !strings.Contains(value+namespace, token) {
				t.Fatalf("the error contains the token: %v", err)
			}
			page, err := reg.Events(ctx, dibs.FeedQuery{})
			if err != nil || len(page.Events) != 0 {
				t.Fatalf("the refused command wrote %v, %v", page.Events, err)
			}
			return
		}
		got, err := reg.Get(ctx, dibs.Lookup{ID: hold.ID})
		if err != nil || got.Value != value || got.Key() != namespace+":"+value || got.CorrelationID != correlation {
			t.Fatalf("Get = %+v, %v", got, err)
		}
		list, err := reg.List(ctx, dibs.NamesQuery{Prefix: value})
		if err != nil || len(list.Names) != 1 {
			t.Fatalf("List = %+v, %v", list, err)
		}
	})
}

func FuzzCursors(f *testing.F) {
	f.Add("", "")
	f.Add("1", "c2x1Zzph")
	f.Add("-1", "!")
	f.Add("latest", "")
	f.Add("2026-03-01T15:04:05Z", "")
	f.Add("0000-01-01T00:00:00+23:59", "")
	f.Add("9999-12-31T23:59:60.999999999-23:59", "")
	f.Fuzz(func(t *testing.T, feed, list string) {
		ctx := context.Background()
		reg, err := core.Open(memstore.New(memstore.Config{}), dibs.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer reg.Close()
		if _, err := reg.Events(ctx, dibs.FeedQuery{After: dibs.Cursor(feed)}); err != nil && !errors.Is(err, dibs.ErrBadCursor) {
			t.Errorf("Events after %q: %v", feed, err)
		}
		if _, err := reg.List(ctx, dibs.NamesQuery{Cursor: list}); err != nil && !errors.Is(err, dibs.ErrBadCursor) {
			t.Errorf("List after %q: %v", list, err)
		}
	})
}
