package dibs_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/profile"
)

// namesPage is docs/names.md: its Go, and its tables by label.
type namesPage struct {
	text   string
	code   []string
	tables map[string][][]string
}

func readNamesPage(t *testing.T) namesPage {
	t.Helper()
	page := namesPage{text: readText(t, "docs/names.md"), tables: make(map[string][][]string)}
	for i, block := range strings.Split(page.text, "```") {
		kind, body, _ := strings.Cut(block, "\n")
		switch {
		case i%2 == 0:
			page.readTables(t, block)
		case kind == "go":
			page.code = append(page.code, withoutIndent(body))
		case kind != "sh":
			t.Errorf("a block of %q, which no test looks at", kind)
		}
	}
	return page
}

var tableLabel = regexp.MustCompile(`^<!-- (.*) -->$`)

// readTables keeps the tables behind a label, without their two lines of heading.
func (p *namesPage) readTables(t *testing.T, text string) {
	t.Helper()
	label, heading := "", 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch found := tableLabel.FindStringSubmatch(line); {
		case found != nil:
			if label, heading = found[1], 2; p.tables[label] != nil {
				t.Errorf("two tables are called %q", label)
			}
		case label == "" || line == "":
			if heading == 0 {
				label = ""
			}
		case heading > 0:
			heading--
		default:
			var cells []string
			for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
				cells = append(cells, strings.TrimSpace(cell))
			}
			p.tables[label] = append(p.tables[label], cells)
		}
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func withoutIndent(code string) string {
	return regexp.MustCompile(`(?m)^\t+`).ReplaceAllString(strings.TrimSpace(code), "")
}

// quoted returns what a cell has in backticks, or nothing.
func quoted(cell string) string {
	_, rest, _ := strings.Cut(cell, "`")
	text, _, _ := strings.Cut(rest, "`")
	return text
}

// The Go of the page is code that examples run.
func TestNamesPageShowsWhatIsTested(t *testing.T) {
	t.Parallel()
	tested := ""
	for _, path := range []string{"example_names_test.go", "example_profile_test.go", "profile/example_test.go"} {
		tested += withoutIndent(readText(t, path)) + "\n"
	}
	page := readNamesPage(t)
	if len(page.code) < 10 {
		t.Errorf("the page has %d blocks of Go", len(page.code))
	}
	for _, code := range page.code {
		if !strings.Contains(tested, code) {
			t.Errorf("no example runs this:\n%s", code)
		}
	}
}

// pageProfiles are the profiles that the page tells about.
var pageProfiles = map[string]dibs.Profile{
	"dibs.Exact":                                       dibs.Exact,
	"profile.Slug{}":                                   profile.Slug{},
	"profile.Slug{MaxLength: 16}":                      profile.Slug{MaxLength: 16},
	"profile.Slug{Strict: true}":                       profile.Slug{Strict: true},
	"profile.Slug{MaxLength: 16, Strict: true}":        profile.Slug{MaxLength: 16, Strict: true},
	"profile.Username{}":                               profile.Username{},
	"profile.Username{MinLength: 3, MaxLength: 16}":    profile.Username{MinLength: 3, MaxLength: 16},
	"profile.Email{}":                                  profile.Email{},
	"profile.Email{Providers: profile.KnownProviders}": profile.Email{Providers: profile.KnownProviders},
	"profile.Hostname{}":                               profile.Hostname{},
	"profile.OneScript(profile.Username{})":            profile.OneScript(profile.Username{}),
	"couponCode{}":                                     couponCode{},
}

func TestNamesPageTables(t *testing.T) {
	t.Parallel()
	page := readNamesPage(t)
	unseen := maps.Clone(pageProfiles)
	for label, rows := range page.tables {
		kind, expression, ok := strings.Cut(label, ": ")
		if !ok {
			continue
		}
		p := pageProfiles[expression]
		if p == nil {
			t.Errorf("no profile is called %q", expression)
			continue
		}
		delete(unseen, expression)
		for _, row := range rows {
			switch kind {
			case "becomes":
				value, want := quoted(row[0]), quoted(row[1])
				if got, err := p.Canonical(value); err != nil || got != want {
					t.Errorf("%s: %q becomes %q (%v), the page says %q", expression, value, got, err, want)
				}
			case "refuses":
				rule, value, try := quoted(row[0]), quoted(row[2]), quoted(row[3])
				_, err := p.Canonical(value)
				var got *dibs.Refusal
				if !errors.As(err, &got) || got.Rule != rule || got.Try != try {
					t.Errorf("%s: %q is refused by %+v, the page says %s, try %q", expression, value, got, rule, try)
				}
			default:
				t.Errorf("a table of %q, which no test looks at", kind)
			}
		}
	}
	for expression := range unseen {
		t.Errorf("the page shows nothing of %s", expression)
	}
}

func TestNamesPageFurtherTables(t *testing.T) {
	t.Parallel()
	page := readNamesPage(t)
	words, err := profile.ReservedWords(profile.Words{ // as in its example
		Lists: profile.AllLists, Own: []string{"acme", "acme-shop"}, Patterns: []string{"admin*", "*-support", "??"},
		Except: []string{"developers"}, LookAlikes: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	yes := func(b bool) string {
		if b {
			return "yes"
		}
		return "no"
	}
	for label, rowOf := range map[string]func(row []string) []string{
		"words": func(row []string) []string { return []string{row[0], yes(words.Reserved(quoted(row[0])))} },
		"look-alikes": func(row []string) []string {
			one, other := profile.Confusables.Skeleton(quoted(row[0])), profile.Confusables.Skeleton(quoted(row[1]))
			return []string{row[0], row[1], yes(one == other)}
		},
		"lists": func(row []string) []string {
			i := slices.IndexFunc(profile.AllLists, func(l profile.List) bool { return l.Name == quoted(row[0]) })
			return []string{row[0], strconv.Itoa(len(profile.AllLists[i].Words))}
		},
		"providers": func(row []string) []string {
			i := slices.IndexFunc(profile.KnownProviders, func(p profile.Provider) bool { return p.Name == quoted(row[0]) })
			return providerRow(profile.KnownProviders[i])
		},
	} {
		rows := page.tables[label]
		if len(rows) < 5 {
			t.Errorf("the table %q has %d rows", label, len(rows))
		}
		for _, row := range rows {
			if want := rowOf(row); !slices.Equal(row[:len(want)], want) {
				t.Errorf("%s: the page says %q, it is %q", label, row, want)
			}
		}
	}
	if got := len(page.tables["providers"]); got != len(profile.KnownProviders) {
		t.Errorf("the page has %d providers", got)
	}
	if got := len(page.tables["lists"]); got != len(profile.AllLists) {
		t.Errorf("the page has %d lists", got)
	}
}

func providerRow(p profile.Provider) []string {
	dots, one := "count", "no"
	if p.IgnoreDots {
		dots = "do not count"
	}
	if p.Canonical != "" {
		one = "yes, `" + p.Canonical + "`"
	}
	return []string{"`" + p.Name + "`", strconv.Itoa(len(p.Domains)), dots, "`" + p.Separators + "`", one}
}

// The page knows every rule by which a profile refuses.
func TestNamesPageKnowsAllRules(t *testing.T) {
	t.Parallel()
	page := readNamesPage(t)
	paths, err := filepath.Glob("profile/*.go")
	if err != nil {
		t.Fatal(err)
	}
	rule := regexp.MustCompile(`(?:refuse\(|return |rule: )"([a-z0-9_]+)"`)
	rules := make(map[string]bool)
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		for _, found := range rule.FindAllStringSubmatch(readText(t, path), -1) {
			rules[found[1]] = true
		}
	}
	if len(rules) < 50 {
		t.Errorf("the profiles have %d rules", len(rules))
	}
	for name := range rules {
		if !strings.Contains(page.text, "`"+name+"`") {
			t.Errorf("the page says nothing about the rule %s", name)
		}
	}
}
