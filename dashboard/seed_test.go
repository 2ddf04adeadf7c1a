package dashboard_test

import (
	"fmt"
	"testing"

	"github.com/calldibs/dibs"
)

// seed gives a registry some life: owners, renames, holds, refusals, and names in several scripts.
func seed(t *testing.T, reg *dibs.Registry) {
	t.Helper()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	first := []string{"Alice", "Bob", "Carol", "Dave", "Erin", "Frank", "Grace", "Heidi"}
	for i, a := range first {
		for j, b := range first[:4] {
			if a != b {
				must(reg.Claim(ctx, dibs.Claim{Namespace: "slug", Value: a + " & " + b, Entity: wedding(100 + 10*i + j)}))
			}
		}
		must(reg.Claim(ctx, dibs.Claim{Namespace: "username", Value: a, Entity: dibs.Entity{Type: "user", ID: fmt.Sprint(i)}}))
		must(reg.Claim(ctx, dibs.Claim{Namespace: "acme.slug", Value: a + "'s shop", Entity: dibs.Entity{Type: "shop", ID: fmt.Sprint(i)}}))
		must(reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "Pending " + a, Entity: wedding(900 + i)}))
	}
	must(reg.Claim(ctx, dibs.Claim{Namespace: "slug", Value: "The Millers", Entity: wedding(42)}))
	must(reg.Rename(ctx, dibs.Rename{Namespace: "slug", Value: "Miller Wedding", Entity: wedding(42)}))
	must(reg.Rename(ctx, dibs.Rename{Namespace: "slug", Value: "Anna and Max", Entity: wedding(42)}))
	for range 12 {
		if _, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "alice-bob"}); err == nil {
			t.Fatal("two callers got one name")
		}
	}
}

func wedding(id int) dibs.Entity { return dibs.Entity{Type: "wedding", ID: fmt.Sprint(id)} }
