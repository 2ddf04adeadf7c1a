package routestore

import (
	"errors"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
)

// A cursor of the whole feed has one spelling, or is refused.
func FuzzCursor(f *testing.F) {
	whole, err := newTable([]Route{{Name: "default", Scopes: []string{Everything}}, {Name: "eu", Scopes: []string{"eu.*"}}, {Name: "us-1", Scopes: []string{"us"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add("~default.1204~eu.17")
	f.Add("~default.12%7E04~us-1.a-b")
	f.Add("17")
	f.Add("~eu.1~default.2")
	f.Add("~eu")
	f.Fuzz(func(t *testing.T, text string) {
		at, err := whole.decode(dibs.Cursor(text))
		switch {
		case errors.Is(err, dibs.ErrBadCursor):
		case err != nil:
			t.Errorf("%q: %v", text, err)
		case strings.HasPrefix(text, separator) && whole.encode(at) != dibs.Cursor(text):
			t.Errorf("%q is %q, and that is %q", text, at, whole.encode(at))
		}
	})
}

// Routes are refused, or send every scope to one of their parts, and are the same after they were
// stored.
func FuzzRoutes(f *testing.F) {
	f.Add("default", "*", "eu", "eu.*,acme", "eu.shop")
	f.Add("a", "", "b", "*", "x")
	f.Add("a", "*,*", "a", "x..y", "")
	f.Fuzz(func(t *testing.T, name1, scopes1, name2, scopes2, scope string) {
		routes := []Route{{Name: name1, Scopes: strings.Split(scopes1, ",")}, {Name: name2, Scopes: strings.Split(scopes2, ",")}}
		whole, err := newTable(routes)
		if err != nil {
			return
		}
		if part := whole.partOf(scope); part < 0 || part >= len(routes) {
			t.Errorf("the scope %q is in part %d", scope, part)
		}
		stored, err := parse(whole.text)
		if err != nil {
			t.Fatal(err)
		}
		if err := whole.checkFollows(stored); err != nil {
			t.Errorf("the stored routes differ: %v", err)
		}
	})
}
