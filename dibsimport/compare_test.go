package dibsimport_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsimport"
)

// compare compares a CSV with the registry, and returns a line for each difference.
func (r *target) compare(csv string, options dibsimport.CompareOptions) (*dibsimport.Comparison, []string) {
	r.t.Helper()
	var lines []string
	options.Mapping = users
	options.Found = func(d dibsimport.Difference) error {
		value, entity := d.Row.Value, d.Row.Entity
		if d.Kind == dibsimport.Extra {
			value, entity = d.Name.Value, d.Name.Entity
		}
		lines = append(lines, fmt.Sprintf("%s %s %s", d.Kind, value, entity))
		if d.String() == "" {
			r.t.Errorf("%+v has no text", d)
		}
		return nil
	}
	c, err := dibsimport.Compare(r.t.Context(), r.registry, dibsimport.CSV(strings.NewReader(csv)), options)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(c.Close)
	slices.Sort(lines)
	return c, lines
}

const staff = `id,username,alias_of,archived
1,Ann,,
2,bob,,
3,carl,,yes
4,old-dora,dora,
4,dora,,
`

func TestCompareFindsEachKindOfDifference(t *testing.T) {
	t.Parallel()
	r := newTarget(t)
	r.run(staff, dibsimport.Options{})
	if c, lines := r.compare(staff, dibsimport.CompareOptions{}); c.Count() != 0 || c.Same != 5 || c.Names != 5 {
		t.Fatalf("%+v: %q, want no difference", c, lines)
	}

	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	user := func(id string) dibs.Entity { return dibs.Entity{Type: "user", ID: id} }
	_, err := r.registry.Decommission(ctx, dibs.Decommission{Namespace: "username", Value: "ann", Entity: user("1")})
	must(err)
	_, err = r.registry.Transfer(ctx, dibs.Transfer{Namespace: "username", Value: "bob", From: user("2"), To: user("20")})
	must(err)
	_, err = r.registry.Restore(ctx, dibs.Restore{Entity: user("3")})
	must(err)
	_, err = r.registry.Rename(ctx, dibs.Rename{Namespace: "username", Value: "old-dora", Entity: user("4")})
	must(err)
	_, err = r.registry.Import(ctx, dibs.Import{Namespace: "username", Value: "emil", Entity: user("5"), Since: long})
	must(err)
	// Neither of another type of entity, nor in another namespace, nor since the comparison began.
	_, err = r.registry.Import(ctx, dibs.Import{Namespace: "username", Value: "shop", Entity: dibs.Entity{Type: "shop", ID: "1"}, Since: long})
	must(err)
	_, err = r.registry.Import(ctx, dibs.Import{Namespace: "slug", Value: "emil", Entity: user("5"), Since: long})
	must(err)
	late := false
	c, lines := r.compare(staff+"6,no name!,,\n", dibsimport.CompareOptions{Pause: func(context.Context, int) error {
		if !late {
			_, err := r.registry.Claim(ctx, dibs.Claim{Namespace: "username", Value: "late", Entity: user("7")})
			must(err)
		}
		late = true
		return nil
	}})
	mustEqual(t, "differences", lines, []string{
		"extra emil user/5", "invalid no name! user/6", "missing Ann user/1", "other_archived carl user/3", "other_owner bob user/2",
		"other_role dora user/4", "other_role old-dora user/4",
	})
	if c.Late != 1 || c.Rows != 6 || c.Importable != 1 {
		t.Errorf("%+v", c)
	}
}

// TestFixImportsAndArchivesOnly checks that a fix takes nothing from an owner.
func TestFixImportsAndArchivesOnly(t *testing.T) {
	t.Parallel()
	r := newTarget(t)
	r.run("id,username\n2,carl\n3,extra\n20,bob\n4,dora\n", dibsimport.Options{})
	if _, err := r.registry.Archive(t.Context(), dibs.Archive{Entity: dibs.Entity{Type: "user", ID: "4"}}); err != nil {
		t.Fatal(err)
	}
	before := r.owners()
	source := "id,username,alias_of,archived\n1,ann,,\n1,old-ann,ann,\n2,bob,,\n5,emil,,yes\n4,dora,,\n"
	c, lines := r.compare(source, dibsimport.CompareOptions{})
	if c.Importable != 3 || len(lines) != c.Count() {
		t.Fatalf("%+v %q", c, lines)
	}
	mustEqual(t, "owners after a comparison", r.owners(), before)
	fixed, err := c.Fix(t.Context(), r.registry, dibsimport.Options{})
	if err != nil || fixed.Imported != 3 || fixed.Archived != 1 || fixed.Restored != 1 || fixed.Lost != 0 {
		t.Errorf("%+v %v", fixed, err)
	}
	mustEqual(t, "owners", r.owners(), []string{
		"ann active user/1", "bob active user/20", "carl active user/2", "dora active user/4", "emil active user/5", "extra active user/3",
		"old-ann alias user/1",
	})
	_, lines = r.compare(source, dibsimport.CompareOptions{})
	mustEqual(t, "what is left", lines, []string{"extra carl user/2", "extra extra user/3", "other_owner bob user/2"})
}

// TestCompareStops checks that an error of the source, of the caller and of the mapping ends a
// comparison.
func TestCompareStops(t *testing.T) {
	t.Parallel()
	r := newTarget(t)
	full := errors.New("full")
	for name, c := range map[string]struct {
		csv     string
		mapping dibsimport.Mapping
		want    string
	}{
		"source":  {"id,username\n1,ann\n2\n", users, "line 3"},
		"found":   {"id,username\n1,ann\n", users, "full"},
		"mapping": {"a,b\n1,ann\n", users, "the columns are a, b"},
	} {
		options := dibsimport.CompareOptions{Mapping: c.mapping, Found: func(dibsimport.Difference) error { return full }}
		_, err := dibsimport.Compare(t.Context(), r.registry, dibsimport.CSV(strings.NewReader(c.csv)), options)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCompareManyNamespaces lists all names at once when the source has many namespaces.
func TestCompareManyNamespaces(t *testing.T) {
	t.Parallel()
	r := newTarget(t)
	var csv strings.Builder
	csv.WriteString("namespace,value,entity_type,entity_id\n")
	for i := range 1100 {
		fmt.Fprintf(&csv, "t%d.slug,home,site,%d\n", i, i)
	}
	mapping := dibsimport.Mapping{}
	if _, err := dibsimport.Run(t.Context(), r.registry, dibsimport.CSV(strings.NewReader(csv.String())), dibsimport.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.registry.Import(t.Context(), dibs.Import{Namespace: "t7.slug", Value: "extra", Entity: dibs.Entity{Type: "site", ID: "x"}, Since: long}); err != nil {
		t.Fatal(err)
	}
	c, err := dibsimport.Compare(t.Context(), r.registry, dibsimport.CSV(strings.NewReader(csv.String())), dibsimport.CompareOptions{Mapping: mapping})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Same != 1100 || c.Names != 1101 || c.Differences[dibsimport.Extra] != 1 || c.Count() != 1 {
		t.Errorf("%+v", c)
	}
}

// long is a date before any comparison.
var long = time.UnixMilli(1_600_000_000_000)

// An import archives an owner if any of its rows says so, and a comparison with the same source agrees: the
// row of an alias often does not have it.
func TestArchivedIsAboutTheOwner(t *testing.T) {
	t.Parallel()
	r := newTarget(t)
	const source = "id,username,alias_of,archived\n3,carl,,yes\n3,old-carl,carl,\n4,dora,,\n"
	r.run(source, dibsimport.Options{})
	if _, lines := r.compare(source, dibsimport.CompareOptions{}); len(lines) > 0 {
		t.Errorf("the source that was imported differs: %q", lines)
	}
	// Those with other rows differ once, whatever the order of their rows.
	if _, err := r.registry.Archive(t.Context(), dibs.Archive{Entity: dibs.Entity{Type: "user", ID: "4"}}); err != nil {
		t.Fatal(err)
	}
	c, lines := r.compare("id,username,alias_of,archived\n3,old-carl,carl,\n3,carl,,\n4,dora,,\n", dibsimport.CompareOptions{})
	if len(lines) != 2 || c.Differences[dibsimport.OtherArchived] != 2 {
		t.Errorf("a source that has the column and archives no one: %q", lines)
	}
	if fixed, err := c.Fix(t.Context(), r.registry, dibsimport.Options{}); err != nil || fixed.Restored != 2 {
		t.Errorf("%+v %v", fixed, err)
	}
}
