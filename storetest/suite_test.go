package storetest

import (
	"context"
	"os"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"github.com/calldibs/dibs"
)

// contract returns the ids of the musts in the comments of dibs.Store.
func contract(t *testing.T) []string {
	t.Helper()
	source, err := os.ReadFile("../store.go")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	// Links to identifiers, such as [ErrUnavailable], contain capitals.
	for _, match := range regexp.MustCompile(`(?m)^\s*//.*$`).FindAll(source, -1) {
		for _, id := range regexp.MustCompile(`\[([a-z]+(?:-[a-z]+)*)\]`).FindAllSubmatch(match, -1) {
			ids = append(ids, string(id[1]))
		}
	}
	if len(ids) < 30 {
		t.Fatalf("found only %d ids in store.go: %v", len(ids), ids)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func TestEveryMustHasACase(t *testing.T) {
	t.Parallel()
	ids := contract(t)
	for _, id := range ids {
		if !slices.Contains(Musts(), id) {
			t.Errorf("[%s] in store.go has no case", id)
		}
	}
	for _, id := range Musts() {
		if !slices.Contains(ids, id) {
			t.Errorf("a case proves [%s], which is not in store.go", id)
		}
	}
}

func TestCasesHaveDifferentNames(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, c := range cases {
		for _, must := range c.ids() {
			if key := must + "/" + c.name; seen[key] {
				t.Errorf("two cases are named %q", key)
			} else {
				seen[key] = true
			}
		}
	}
}

// An unbroken store passes with all parts of a harness, so a broken one fails
// because of what was broken.
func TestSoundStorePasses(t *testing.T) {
	t.Parallel()
	Run(t, fakes(nil))
}

// An engine may commit all groups of a call as one transaction.
func TestStoreWithOneTransactionPasses(t *testing.T) {
	t.Parallel()
	Run(t, fakes(func(f *fake, _ *Clock) {
		good := f.commit
		f.commit = func(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
			all := join(groups...)
			for _, g := range groups {
				all.Window.From = max(all.Window.From, g.Window.From)
				if g.Window.Before != 0 && (all.Window.Before == 0 || g.Window.Before < all.Window.Before) {
					all.Window.Before = g.Window.Before
				}
			}
			outcomes, err := good(ctx, []dibs.Group{all})
			return slices.Repeat(outcomes, len(groups)), err
		}
	}))
}

func TestFillLeavesNothingOut(t *testing.T) {
	t.Parallel()
	for _, record := range []any{fill(new(dibs.NameRecord)), fill(new(dibs.EntityRecord)), fill(new(dibs.Document)), fill(new(dibs.Event))} {
		requireFilled(t, reflect.ValueOf(record).Elem())
	}
}

func requireFilled(t *testing.T, v reflect.Value) {
	t.Helper()
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("%s.%s is not filled", v.Type(), v.Type().Field(i).Name)
		}
		if v.Field(i).Kind() == reflect.Struct {
			requireFilled(t, v.Field(i))
		}
	}
}

func TestOddValuesDiffer(t *testing.T) {
	t.Parallel()
	if sorted := inByteOrder(oddValues); len(slices.Compact(sorted)) != len(oddValues) {
		t.Error("a value is listed twice")
	}
	for _, value := range oddValues {
		if value == "" || len(value) > 1024 {
			t.Errorf("no registry stores %.20q, of %d bytes", value, len(value))
		}
	}
}
