package docs_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/core"
	"github.com/calldibs/dibs/internal/figures"
	"github.com/calldibs/dibs/internal/wire"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/profile"
	"github.com/calldibs/dibs/sqlitestore"
)

var update = flag.Bool("update", false, "write the generated parts of docs/events.md")

// life is a registry on an engine with a clock of its own, for one row of the table of sequences.
type life struct {
	testing.TB
	*dibs.Registry
	mu      sync.Mutex
	now     time.Time
	verdict dibs.Verdict // of the witness
}

func (l *life) clock() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

func (l *life) wait(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = l.now.Add(d)
}

const day = 24 * time.Hour

// policies are the policies of the sequences: a type for each setting that events depend on.
func (l *life) policies(code dibs.Profile) map[string]dibs.Policy {
	return map[string]dibs.Policy{
		"slug": {Profile: profile.Slug{}},
		"kept": {Profile: profile.Slug{}, Quarantine: 10 * day, AliasRetention: 5 * day},
		"code": {Profile: code},
		"seen": {Profile: profile.Slug{}, Witness: func(context.Context, dibs.SuspectHold) (dibs.Verdict, error) { return l.verdict, nil }},
	}
}

// engines are the engines that have a clock for tests.
var engines = map[string]func(*life) (dibs.Store, error){
	"memory": func(l *life) (dibs.Store, error) { return memstore.New(memstore.Config{Now: l.clock}), nil },
	"sqlite": func(l *life) (dibs.Store, error) {
		return sqlitestore.Open(l.Context(), filepath.Join(l.TempDir(), "names.db"), sqlitestore.Config{Now: l.clock})
	},
}

// newLife opens a registry on an engine.
func newLife(t *testing.T, engine string) *life {
	t.Helper()
	l := &life{TB: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	store, err := engines[engine](l)
	if err != nil {
		t.Fatal(err)
	}
	registry, err := core.Open(store, dibs.Config{Policies: l.policies(dibs.Exact), SweepEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = registry.Close() })
	l.Registry = registry.As(dibs.Principal{Name: "shop", Rights: dibs.Operate})
	return l
}

// do applies commands and fails the test if they are refused.
func (l *life) do(commands ...dibs.Command) []dibs.Result {
	l.Helper()
	results, err := l.Apply(l.Context(), commands...)
	if err != nil {
		l.Fatal(err)
	}
	return results
}

func (l *life) sweep() {
	l.Helper()
	if _, err := l.Sweep(l.Context(), 1000); err != nil {
		l.Fatal(err)
	}
}

// since returns the events after a cursor.
func (l *life) since(after dibs.Cursor) ([]dibs.Event, dibs.Cursor) {
	l.Helper()
	page, err := l.Events(l.Context(), dibs.FeedQuery{After: after, Limit: 1000})
	if err != nil {
		l.Fatal(err)
	}
	return page.Events, page.Next
}

const secret = "a-random-secret-of-mine"

func entity(id string) dibs.Entity { return dibs.Entity{Type: "user", ID: id} }

func reserve(namespace, value string) dibs.Reserve {
	return dibs.Reserve{Namespace: namespace, Value: value, Token: secret}
}

func idOf(namespace, canonical string) dibs.ID { return dibs.NameID(namespace, canonical) }

func claim(namespace, value, owner string) dibs.Claim {
	return dibs.Claim{Namespace: namespace, Value: value, Entity: entity(owner)}
}

func rename(namespace, value, owner string) dibs.Rename {
	return dibs.Rename{Namespace: namespace, Value: value, Entity: entity(owner)}
}

// sequence is a row of the table: what happens before, and then what it is about.
type sequence struct {
	row          string
	before, then func(*life)
}

// play returns the events of a sequence.
func (s sequence) play(l *life) []dibs.Event {
	l.Helper()
	if s.before != nil {
		s.before(l)
	}
	_, after := l.since("")
	s.then(l)
	events, _ := l.since(after)
	return events
}

func kindsOf(events []dibs.Event) (kinds []string) {
	for _, e := range events {
		kinds = append(kinds, string(e.Kind))
	}
	return kinds
}

var sequences = []sequence{
	{"reserve a free name", nil, func(l *life) { l.do(reserve("slug", "Ann")) }},
	{"reserve again with the same token", func(l *life) { l.do(reserve("slug", "ann")) }, func(l *life) { l.do(reserve("slug", "ann")) }},
	{"reserve a name whose hold has ended", func(l *life) {
		l.do(reserve("slug", "ann"))
		l.wait(time.Hour)
	}, func(l *life) { l.do(dibs.Reserve{Namespace: "slug", Value: "ann", Token: "another-random-secret"}) }},
	{"reserve several names", nil, func(l *life) {
		l.do(dibs.ReserveAll{Token: secret, Reservations: []dibs.Reserve{{Namespace: "slug", Value: "ann"}, {Namespace: "kept", Value: "ann"}}})
	}},
	{"reserve the first of several that is available", func(l *life) { l.do(claim("slug", "ann", "1")) }, func(l *life) {
		l.do(dibs.ReserveFirst{Namespace: "slug", Values: []string{"ann", "anna"}, Token: secret})
	}},
	{"extend", func(l *life) {
		l.do(reserve("slug", "ann"))
		l.wait(time.Minute)
	}, func(l *life) { l.do(dibs.Extend{ID: idOf("slug", "ann"), Token: secret}) }},
	{"confirm", func(l *life) { l.do(reserve("slug", "ann")) }, func(l *life) {
		l.do(dibs.Confirm{ID: idOf("slug", "ann"), Token: secret, Entity: entity("1")})
	}},
	{"confirm with `replace`", func(l *life) { l.do(claim("slug", "ann", "1"), reserve("slug", "anna")) }, func(l *life) {
		l.do(dibs.Confirm{ID: idOf("slug", "anna"), Token: secret, Entity: entity("1"), Replace: true})
	}},
	{"release", func(l *life) { l.do(reserve("slug", "ann")) }, func(l *life) { l.do(dibs.Release{ID: idOf("slug", "ann"), Token: secret}) }},
	{"claim", nil, func(l *life) { l.do(claim("slug", "ann", "1")) }},
	{"import", nil, func(l *life) { l.do(dibs.Import{Namespace: "slug", Value: "ann", Entity: entity("1")}) }},
	{"import as an old name", func(l *life) { l.do(claim("slug", "anna", "1")) }, func(l *life) {
		l.do(dibs.Import{Namespace: "slug", Value: "ann", AliasOf: "anna", Entity: entity("1")})
	}},
	{"rename to a free name", func(l *life) { l.do(claim("slug", "ann", "1")) }, func(l *life) { l.do(rename("slug", "anna", "1")) }},
	{"rename to a name that is held with the token", func(l *life) { l.do(claim("slug", "ann", "1"), reserve("slug", "anna")) }, func(l *life) {
		l.do(dibs.Rename{Namespace: "slug", Value: "anna", Entity: entity("1"), Token: secret})
	}},
	{"rename back to an old name", func(l *life) { l.do(claim("slug", "ann", "1"), rename("slug", "anna", "1")) }, func(l *life) {
		l.do(rename("slug", "ann", "1"))
	}},
	{"rename to the same name, written differently", func(l *life) { l.do(claim("slug", "ann", "1")) }, func(l *life) { l.do(rename("slug", "ANN", "1")) }},
	{"rename an entity without a name", nil, func(l *life) { l.do(rename("slug", "ann", "1")) }},
	{"transfer", func(l *life) { l.do(claim("slug", "ann", "1")) }, func(l *life) {
		l.do(dibs.Transfer{Namespace: "slug", Value: "ann", From: entity("1"), To: entity("2")})
	}},
	{"swap", func(l *life) { l.do(claim("slug", "ann", "1"), claim("slug", "bob", "2")) }, func(l *life) {
		l.do(dibs.Swap{Namespace: "slug", A: dibs.Named{Value: "ann", Entity: entity("1")}, B: dibs.Named{Value: "bob", Entity: entity("2")}})
	}},
	{"decommission", func(l *life) { l.do(claim("slug", "ann", "1")) }, func(l *life) {
		l.do(dibs.Decommission{Namespace: "slug", Value: "ann", Entity: entity("1")})
	}},
	{"archive", func(l *life) { l.do(claim("slug", "ann", "1")) }, func(l *life) { l.do(dibs.Archive{Entity: entity("1")}) }},
	{"restore", func(l *life) { l.do(claim("slug", "ann", "1"), dibs.Archive{Entity: entity("1")}) }, func(l *life) {
		l.do(dibs.Restore{Entity: entity("1")})
	}},
	{"delete an entity with a name and an old name", func(l *life) { l.do(claim("slug", "ann", "1"), rename("slug", "anna", "1")) }, func(l *life) {
		l.do(dibs.Delete{Entity: entity("1")})
	}},
	{"a list of commands: a claim and a rename", nil, func(l *life) { l.do(claim("slug", "ann", "1"), rename("slug", "anna", "1")) }},
	{"a hold ends, and a sweep records it", func(l *life) {
		l.do(reserve("slug", "ann"))
		l.wait(time.Hour)
	}, (*life).sweep},
	{"a hold ends in a namespace with a witness", func(l *life) {
		l.do(reserve("seen", "ann"))
		l.wait(time.Hour)
	}, (*life).sweep},
	{"the witness says that the entity exists", func(l *life) {
		l.do(reserve("seen", "ann"))
		l.wait(time.Hour)
		l.sweep()
		l.verdict = dibs.Exists(entity("1"))
		l.wait(day)
	}, (*life).sweep},
	{"the witness says that it does not", func(l *life) {
		l.do(reserve("seen", "ann"))
		l.wait(time.Hour)
		l.sweep()
		l.verdict = dibs.Absent
		l.wait(day)
	}, (*life).sweep},
	{"settle with `exists`", func(l *life) {
		l.do(reserve("seen", "ann"))
		l.wait(time.Hour)
		l.sweep()
	}, func(l *life) { l.do(dibs.Settle{ID: idOf("seen", "ann"), Verdict: dibs.Exists(entity("1"))}) }},
	{"settle with `absent`", func(l *life) {
		l.do(reserve("seen", "ann"))
		l.wait(time.Hour)
		l.sweep()
	}, func(l *life) { l.do(dibs.Settle{ID: idOf("seen", "ann"), Verdict: dibs.Absent}) }},
	{"an old name ends by the policy's `aliasRetention`, and a sweep records it", func(l *life) {
		l.do(claim("kept", "ann", "1"), rename("kept", "anna", "1"))
		l.wait(6 * day)
	}, (*life).sweep},
	{"a quarantine ends, and a sweep records it", func(l *life) {
		l.do(claim("kept", "ann", "1"), dibs.Decommission{Namespace: "kept", Value: "ann", Entity: entity("1")})
		l.wait(11 * day)
	}, (*life).sweep},
	{"a name that was never confirmed is purged, `holdHistory` after its end", func(l *life) {
		l.do(reserve("slug", "ann"), dibs.Release{ID: idOf("slug", "ann"), Token: secret})
		l.wait(31 * day)
	}, (*life).sweep},
	{"recanonicalize a name that gets another canonical form", func(l *life) {
		l.do(claim("code", "A1", "1"))
		if err := l.SetPolicies(l.policies(profile.Slug{}), dibs.Policy{}); err != nil {
			l.Fatal(err)
		}
	}, func(l *life) {
		if _, err := l.Recanonicalize(l.Context(), dibs.RecanonicalizeRequest{Namespace: "code"}); err != nil {
			l.Fatal(err)
		}
	}},
	{"forget an entity with one name", func(l *life) { l.do(claim("slug", "ann", "1")) }, func(l *life) {
		if _, err := l.Forget(l.Context(), dibs.ForgetRequest{Entity: entity("1")}); err != nil {
			l.Fatal(err)
		}
	}},
	{"a command that is refused or replayed, a dry run, a read", func(l *life) { l.do(claim("slug", "ann", "1")) }, func(l *life) {
		l.do(claim("slug", "ann", "1"))
		if _, err := l.Apply(l.Context(), claim("slug", "ann", "2")); err == nil {
			l.Error("a taken name was claimed")
		}
		if _, err := l.DryRun(l.Context(), dibs.Delete{Entity: entity("1")}); err != nil {
			l.Error(err)
		}
		if _, err := l.Resolve(l.Context(), "slug", "ann"); err != nil {
			l.Error(err)
		}
	}},
}

// The page lists every kind of event, and the table of sequences is what engines do.
func TestEventsPage(t *testing.T) {
	t.Parallel()
	page := readText(t, "docs/events.md")
	tables := labelledTables(t, page)
	var kinds, listed, rows []string
	for _, kind := range wire.EventKinds() {
		kinds = append(kinds, string(kind))
	}
	for _, cells := range tables["kinds"] {
		listed = append(listed, quoted(cells[0]))
	}
	sameSet(t, "kinds of event", listed, kinds)
	sequenceOf, used := make(map[string][]string), make(map[string]bool)
	for _, cells := range tables["sequences"] {
		rows = append(rows, cells[0])
		sequenceOf[cells[0]] = allQuoted(cells[1])
		for _, kind := range allQuoted(cells[1]) {
			used[kind] = true
		}
	}
	for _, kind := range kinds {
		if !used[kind] {
			t.Errorf("no sequence has the event %s", kind)
		}
	}
	var played []string
	for _, s := range sequences {
		played = append(played, s.row)
		for engine := range engines {
			t.Run(s.row+"/"+engine, func(t *testing.T) {
				t.Parallel()
				if got := kindsOf(s.play(newLife(t, engine))); !slices.Equal(got, sequenceOf[s.row]) {
					t.Errorf("the page has %q, the engine %q", sequenceOf[s.row], got)
				}
			})
		}
	}
	sameSet(t, "sequences", rows, played)
}

// wrapped returns JSON in lines that a page can show.
func wrapped(document string) string {
	const width = 130
	var lines []string
	line := ""
	for part := range strings.SplitAfterSeq(document, `,"`) {
		part = strings.ReplaceAll(strings.TrimSuffix(part, `"`), `":`, `": `)
		if strings.HasSuffix(part, ",") {
			part += " "
		}
		if line != "" {
			part = `"` + part
		}
		if len(line)+len(strings.TrimSpace(part)) > width {
			lines, line = append(lines, strings.TrimRight(line, " ")), ""
			part = " " + part
		}
		line += part
	}
	return strings.Join(append(lines, strings.TrimRight(line, " ")), "\n")
}

// The examples on the page are events of a real registry: of each kind the first one in a sequence.
func TestEventExamples(t *testing.T) {
	t.Parallel()
	examples := make(map[dibs.EventKind]string)
	for _, s := range sequences {
		for _, e := range s.play(newLife(t, "memory")) {
			if examples[e.Kind] != "" {
				continue
			}
			text, err := json.Marshal(wire.EventOf(e))
			if err != nil {
				t.Fatal(err)
			}
			examples[e.Kind] = wrapped(string(text))
		}
	}
	var generated strings.Builder
	for _, kind := range wire.EventKinds() {
		fmt.Fprintf(&generated, "%s\n", examples[kind])
	}
	page := readText(t, "docs/events.md")
	want, err := figures.Fill(page, "one event of each kind", "```json\n"+generated.String()+"```\n")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(filepath.Join(root, "docs/events.md"), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if page != want {
		t.Errorf("the examples of docs/events.md are not what the registry gives: run go test ./docs -run TestEventExamples -update")
	}
}
