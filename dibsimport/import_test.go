package dibsimport_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsimport"
	"github.com/calldibs/dibs/embedded"
	"github.com/calldibs/dibs/memstore"
)

var users = dibsimport.Mapping{Namespace: "username", EntityType: "user"}

// target is a registry with its store, for plans.
type target struct {
	t        *testing.T
	store    dibs.Store
	config   dibs.Config
	registry *dibs.Registry
}

func newTarget(t *testing.T) *target {
	t.Helper()
	r := &target{t: t, store: memstore.New(memstore.Config{}), config: dibs.Config{SweepEvery: -1}}
	var err error
	if r.registry, err = embedded.Open(r.store, r.config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.registry.Close() })
	return r
}

// run imports a CSV, and returns the report with a line for each lost row.
func (r *target) run(csv string, options dibsimport.Options) (dibsimport.Report, []string) {
	r.t.Helper()
	var lost []string
	options.Lost = func(l dibsimport.Lost) error {
		lost = append(lost, fmt.Sprintf("%s %s %s %s", l.Where, l.Value, l.Err.Code, l.Other))
		return nil
	}
	if options.Mapping == (dibsimport.Mapping{}) {
		options.Mapping = users
	}
	report, err := dibsimport.Run(r.t.Context(), r.registry, dibsimport.CSV(strings.NewReader(csv)), options)
	if err != nil {
		r.t.Fatal(err)
	}
	return report, lost
}

func (r *target) plan(csv string, options dibsimport.Options) (dibsimport.Report, []string) {
	r.t.Helper()
	scratch, err := dibsimport.ScratchOf(r.store, r.config)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = scratch.Close() }()
	var lost []string
	options.Mapping = users
	options.Lost = func(l dibsimport.Lost) error {
		lost = append(lost, fmt.Sprintf("%s %s %s %s", l.Where, l.Value, l.Err.Code, l.Other))
		return nil
	}
	report, err := dibsimport.Plan(r.t.Context(), scratch, dibsimport.CSV(strings.NewReader(csv)), options)
	if err != nil {
		r.t.Fatal(err)
	}
	return report, lost
}

// owners returns the owner of each name in the registry.
func (r *target) owners() []string {
	r.t.Helper()
	page, err := r.registry.List(r.t.Context(), dibs.NamesQuery{Limit: 1000})
	if err != nil {
		r.t.Fatal(err)
	}
	var all []string
	for _, n := range page.Names {
		all = append(all, fmt.Sprintf("%s %s %s", n.Canonical, n.State, n.Entity))
	}
	return all
}

func mustEqual[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

const twins = `id,username,created_at
1,Quinn,2020-03-01T10:00:00Z
2,quinn,2021-03-01
3,rosa,2019-01-01 12:00:00
4,"two words",
5,sven,next year
`

func TestRun(t *testing.T) {
	t.Parallel()
	invalid := []string{"line 5 two words INVALID_VALUE ", "line 6 sven INVALID_VALUE "}
	taken := "line 3 quinn NAME_TAKEN "
	for _, c := range []struct {
		onConflict dibsimport.OnConflict
		owners     []string
		lost       []string
	}{
		{dibsimport.First, []string{"quinn active user/1", "rosa active user/3"}, append([]string{taken}, invalid...)},
		{dibsimport.Suffix, []string{"quinn active user/1", "quinn-2 active user/2", "rosa active user/3"}, invalid},
		{dibsimport.Skip, []string{"rosa active user/3"}, append([]string{"line 2 Quinn NAME_TAKEN ", taken}, invalid...)},
	} {
		t.Run(string(c.onConflict), func(t *testing.T) {
			t.Parallel()
			r := newTarget(t)
			plan, _ := r.plan(twins, dibsimport.Options{OnConflict: c.onConflict})
			if owners := r.owners(); len(owners) != 0 {
				t.Errorf("a plan entered %v", owners)
			}
			options := dibsimport.Options{OnConflict: c.onConflict, Plan: &plan}
			report, lost := r.run(twins, options)
			slices.Sort(lost)
			mustEqual(t, "owners", r.owners(), c.owners)
			mustEqual(t, "lost", lost, slices.Sorted(slices.Values(c.lost)))
			if report.Rows != 5 || report.Imported != len(c.owners) || report.Lost != len(c.lost) || report.Complete() {
				t.Errorf("%+v", report)
			}
			again, _ := r.run(twins, options)
			if again.Imported != 0 || again.Unchanged != len(c.owners) || again.Lost != len(c.lost) {
				t.Errorf("again: %+v", again)
			}
			mustEqual(t, "owners after a second run", r.owners(), c.owners)
		})
	}
}

func TestFail(t *testing.T) {
	t.Parallel()
	r := newTarget(t)
	plan, lost := r.plan(twins, dibsimport.Options{OnConflict: dibsimport.Fail})
	mustEqual(t, "lost", lost, []string{"line 3 quinn NAME_TAKEN line 2", "line 5 two words INVALID_VALUE ", "line 6 sven INVALID_VALUE "})
	source := dibsimport.CSV(strings.NewReader(twins))
	_, err := dibsimport.Run(t.Context(), r.registry, source, dibsimport.Options{Mapping: users, OnConflict: dibsimport.Fail, Plan: &plan})
	if !errors.Is(err, dibsimport.ErrRefused) || len(r.owners()) != 0 {
		t.Errorf("%v, %v", err, r.owners())
	}
	if _, err := dibsimport.Run(t.Context(), r.registry, source, dibsimport.Options{Mapping: users, OnConflict: dibsimport.Fail}); err == nil {
		t.Error("Fail without a plan was accepted")
	}
}

// A plan decides on what the registry has, too.
func TestPlanOnAFullRegistry(t *testing.T) {
	t.Parallel()
	r := newTarget(t)
	r.run("id,username\n9,rosa\n3,quinn\n", dibsimport.Options{})
	report, lost := r.plan("id,username\n3,rosa\n3,quinn\n4,tom\n", dibsimport.Options{})
	mustEqual(t, "lost", lost, []string{"line 2 rosa NAME_TAKEN "})
	if report.Imported != 1 || report.Unchanged != 1 {
		t.Errorf("%+v", report)
	}
	mustEqual(t, "owners", r.owners(), []string{"quinn active user/3", "rosa active user/9"})
}

// Aliases follow the active names, and the archiving of entities follows both, in whatever order the
// source has them. The history has the dates of the source.
func TestAliasesArchivesAndDates(t *testing.T) {
	t.Parallel()
	const csv = `id,username,alias_of,archived,created_at
1,old-quinn,quinn,yes,2019-05-01
1,quinn,,yes,2020-05-01
2,rosa,,false,
`
	r := newTarget(t)
	for round, want := range []dibsimport.Report{{Rows: 3, Imported: 3, Archived: 1}, {Rows: 3, Unchanged: 3}} {
		report, lost := r.run(csv, dibsimport.Options{})
		if fmt.Sprint(report) != fmt.Sprint(want) || len(lost) > 0 {
			t.Errorf("round %d: %+v, want %+v; %v", round, report, want, lost)
		}
	}
	mustEqual(t, "owners", r.owners(), []string{"old-quinn alias user/1", "quinn active user/1", "rosa active user/2"})
	info, err := r.registry.Entity(t.Context(), "", dibs.Entity{Type: "user", ID: "1"})
	if err != nil || !info.Archived {
		t.Error(info, err)
	}
	for at, want := range map[string]dibs.State{"2020-04-30": dibs.Free, "2020-05-01": dibs.Active} {
		moment, _ := time.Parse(time.DateOnly, at)
		holder, err := r.registry.WhoHeld(t.Context(), "username", "quinn", moment)
		if err != nil || holder.State != want {
			t.Errorf("%s: %v, %v, want %s", at, holder, err, want)
		}
	}
}

// A source that fails in the middle leaves what came before, and a second run goes on.
func TestStoppedAndBegunAgain(t *testing.T) {
	t.Parallel()
	var csv strings.Builder
	csv.WriteString("id,username\n")
	for i := range 2500 {
		fmt.Fprintf(&csv, "%d,u%d\n", i, i)
	}
	r := newTarget(t)
	broken := errors.New("the disk is gone")
	source := io.MultiReader(strings.NewReader(csv.String()[:csv.Len()/2]), failing{broken})
	report, err := dibsimport.Run(t.Context(), r.registry, dibsimport.CSV(source), dibsimport.Options{Mapping: users})
	if !errors.Is(err, broken) || report.Imported < 1000 || report.Imported > 1500 {
		t.Fatal(report, err)
	}
	again, _ := r.run(csv.String(), dibsimport.Options{})
	if again.Unchanged != report.Imported || again.Imported != 2500-report.Imported {
		t.Errorf("%+v after %+v", again, report)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestGuessedColumns(t *testing.T) {
	t.Parallel()
	for columns, c := range map[string]struct {
		mapping dibsimport.Mapping
		want    string // the column of the name and of the owner, or a part of the error
	}{
		"username,id":                           {users, "username id"},
		"id,name,username,user_id":              {users, "username user_id"},
		"slug,account_id":                       {dibsimport.Mapping{Namespace: "shop.slug", EntityType: "shop"}, "slug account_id"},
		"namespace,value,entity_type,entity_id": {dibsimport.Mapping{}, "value entity_id"},
		"login,id":                              {dibsimport.Mapping{Namespace: "username", EntityType: "user", Value: "nick"}, `no column "nick"`},
		"color,id":                              {users, "no column is known to be the name; the columns are color, id"},
		"username,key":                          {users, "the id of the entities"},
		"username,id,x":                         {dibsimport.Mapping{EntityType: "user"}, "the namespace"},
	} {
		mapping, err := c.mapping.Resolve(strings.Split(columns, ","))
		got := mapping.Value + " " + mapping.EntityID
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", columns, got, c.want)
		}
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 2<<20)
	for name, c := range map[string]struct {
		source dibsimport.Source
		want   string
	}{
		"empty":               {dibsimport.CSV(strings.NewReader("")), "it is empty"},
		"a quote":             {dibsimport.CSV(strings.NewReader("id,username\n1,a\n2,\"b\n")), "line 3, byte"},
		"too few columns":     {dibsimport.CSV(strings.NewReader("id,username\n1,a\n2\n")), "line 3 has 1 columns, and the first line 2"},
		"two columns":         {dibsimport.CSV(strings.NewReader("id,id\n")), `two columns "id"`},
		"a nameless column":   {dibsimport.TSV(strings.NewReader("id\t\n")), "column 2 has no name"},
		"not UTF-8":           {dibsimport.CSV(strings.NewReader("id,username\n1,M\xfcller\n")), "line 2, column username: it is not UTF-8"},
		"a NUL":               {dibsimport.CSV(strings.NewReader("id,username\n1,a\x00b\n")), "line 2, column username: it has a NUL byte"},
		"a long line":         {dibsimport.CSV(strings.NewReader("id,username\n1,a\n2," + long)), "line 3 is longer"},
		"a long line of JSON": {dibsimport.JSONLines(strings.NewReader("{}\n{\"x\": \"" + long)), "line 2 is longer"},
		"not JSON":            {dibsimport.JSONLines(strings.NewReader("{}\n\nnope\n")), "line 3: it is not an object"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var err error
			for err == nil {
				_, err = c.source.Next()
			}
			if errors.Is(err, io.EOF) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

func TestSources(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]dibsimport.Source{
		"CSV":        dibsimport.CSV(strings.NewReader("\ufeffid,username\r\n1,\"Quinn, the first\"\r\n9007199254740993,\r\n")),
		"TSV":        dibsimport.TSV(strings.NewReader("id\tusername\n1\tQuinn, the first\n9007199254740993\t\n")),
		"JSON Lines": dibsimport.JSONLines(strings.NewReader("\ufeff{\"id\": 1, \"username\": \"Quinn, the first\"}\n\n{\"id\": 9007199254740993, \"username\": null, \"tags\": []}")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, want := range []map[string]string{{"id": "1", "username": "Quinn, the first"}, {"id": "9007199254740993"}} {
				record, err := source.Next()
				if err != nil || fmt.Sprint(record.Fields) != fmt.Sprint(want) {
					t.Errorf("%v, %v, want %v", record, err, want)
				}
			}
			if _, err := source.Next(); !errors.Is(err, io.EOF) {
				t.Errorf("at the end: %v", err)
			}
		})
	}
}

// JSON Lines may have other members in each object.
func TestObjectsWithOtherMembers(t *testing.T) {
	t.Parallel()
	r := newTarget(t)
	const lines = `{"id": "1", "username": "quinn"}
{"id": "2", "username": "rosa", "archived": true, "created_at": 1583000000}
{"username": "sven"}
`
	var lost []string
	report, err := dibsimport.Run(t.Context(), r.registry, dibsimport.JSONLines(strings.NewReader(lines)), dibsimport.Options{
		Mapping: users, Lost: func(l dibsimport.Lost) error { lost = append(lost, l.Where+" "+l.Err.Message); return nil },
	})
	if err != nil || report.Imported != 2 || report.Archived != 1 {
		t.Error(report, err)
	}
	mustEqual(t, "lost", lost, []string{"line 3 no column is known to be the id of the entities"})
}

// The alias of a name that got a number leads to the name with the number.
func TestAliasOfANumberedName(t *testing.T) {
	t.Parallel()
	r := newTarget(t)
	const source = "id,username,alias_of\n1,ann,\n2,ann,\n2,old-ann,ann\n3,older-ann,ann\n"
	for range 2 {
		report, lost := r.run(source, dibsimport.Options{OnConflict: dibsimport.Suffix})
		mustEqual(t, "lost", lost, []string{"line 5 older-ann NOT_OWNER "})
		if report.Imported+report.Unchanged != 3 {
			t.Errorf("%+v", report)
		}
		mustEqual(t, "owners", r.owners(), []string{"ann active user/1", "ann-2 active user/2", "old-ann alias user/2"})
	}
	if got, err := r.registry.Resolve(t.Context(), "username", "old-ann"); err != nil || got.To == nil || got.To.Canonical != "ann-2" {
		t.Errorf("%+v %v", got, err)
	}
}

// A lost row has all of its columns, also if each row of the source has others.
func TestColumnsOfLostObjects(t *testing.T) {
	t.Parallel()
	r := newTarget(t)
	const lines = `{"id": "1", "username": "ann"}
{"id": "2", "username": "ann", "email": "b@example.com", "phone": "1"}
{"id": "3", "username": "carl"}
`
	var columns []string
	_, err := dibsimport.Run(t.Context(), r.registry, dibsimport.JSONLines(strings.NewReader(lines)), dibsimport.Options{
		Mapping: users, Lost: func(l dibsimport.Lost) error { columns = l.Columns; return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	mustEqual(t, "columns", columns, []string{"email", "id", "phone", "username"})
}

// A plan finds other rows of its source. The correlation id of a name in the registry is none.
func TestPlanKnowsItsOwnRows(t *testing.T) {
	t.Parallel()
	r := newTarget(t)
	if _, err := r.registry.Reserve(t.Context(), dibs.Reserve{Namespace: "username", Value: "ann", CorrelationID: "order-77"}); err != nil {
		t.Fatal(err)
	}
	_, lost := r.plan("id,username\n1,ann\n2,bob\n3,bob\n", dibsimport.Options{})
	mustEqual(t, "lost", lost, []string{"line 2 ann NAME_TAKEN ", "line 4 bob NAME_TAKEN line 3"})
}
