package rules_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/calldibs/dibs/internal/core"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/memstore"
)

func FuzzParseID(f *testing.F) {
	f.Add("res_na3p7egyqmoocjuyesjf6lekuq")
	f.Add("res_NA3P7EGYQMOOCJUYESJF6LEKUQ")
	f.Add("res_na3p7egyqmoocjuyesjf6lekur") // spare bits that are not zero
	f.Add("")
	f.Fuzz(func(t *testing.T, s string) {
		id, err := dibs.ParseID(s)
		if err != nil {
			if !errors.Is(err, dibs.ErrNotFound) {
				t.Errorf("ParseID(%q) = %v", s, err)
			}
			return
		}
		if !id.IsZero() && id.String() != s {
			t.Errorf("%q and %q are the same reservation", s, id.String())
		}
	})
}

// Whatever is asked for, the registry answers with a typed error or with what was
// asked for, byte for byte; and what it refuses it does not keep.
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
				t.Fatalf("refused by %T: %v", err, err)
			}
			if token != "" && len(token) >= 16 && strings.Contains(err.Error(), token) && !strings.Contains(value+namespace, token) {
				t.Fatalf("the token is in the error: %v", err)
			}
			page, err := reg.Events(ctx, dibs.FeedQuery{})
			if err != nil || len(page.Events) != 0 {
				t.Fatalf("something happened: %v, %v", page.Events, err)
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
