package docs_test

import (
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/profile"
)

const namesPage = "docs/names.md"

func withoutIndent(code string) string {
	return regexp.MustCompile(`(?m)^\t+`).ReplaceAllString(strings.TrimSpace(code), "")
}

// namesCode returns the Go blocks of the page.
func namesCode(t *testing.T) (code []string) {
	t.Helper()
	blocks := blocksOf(readText(t, namesPage))
	for _, b := range blocks {
		switch b.kind {
		case "go":
			code = append(code, b.body)
		case "sh":
		default:
			t.Errorf("no test reads blocks of kind %q", b.kind)
		}
	}
	return code
}

// Examples run the Go of the page.
func TestNamesPageShowsTestedCode(t *testing.T) {
	t.Parallel()
	tested := withoutIndent(readFiles(t, isTest, "example_*_test.go", "profile/example_test.go"))
	code := namesCode(t)
	if len(code) < 10 {
		t.Errorf("the page has only %d blocks of Go", len(code))
	}
	for _, c := range code {
		if !strings.Contains(tested, withoutIndent(c)) {
			t.Errorf("no example runs this code:\n%s", c)
		}
	}
}

// pageProfiles are the profiles that tables of the page describe, by their Go expression.
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
}

func TestNamesPageTables(t *testing.T) {
	t.Parallel()
	unseen := maps.Clone(pageProfiles)
	for label, rows := range labelledTables(t, readText(t, namesPage)) {
		kind, expression, ok := strings.Cut(label, ": ")
		if !ok || expression == "couponCode{}" { // TestNamesPageOwnProfile
			continue
		}
		p := pageProfiles[expression]
		if p == nil {
			t.Errorf("pageProfiles has no profile %q", expression)
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
				t.Errorf("no test reads tables of kind %q", kind)
			}
		}
	}
	for expression := range unseen {
		t.Errorf("the page has no table for %s", expression)
	}
}

// The profile that the page shows as an example does what its tables say.
func TestNamesPageOwnProfile(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds a program")
	}
	var main, want strings.Builder
	main.WriteString("package main\n\nimport (\n\t\"errors\"\n\t\"fmt\"\n\n\t\"github.com/calldibs/dibs\"\n)\n\n")
	for _, c := range namesCode(t) {
		if strings.Contains(c, "type couponCode ") {
			main.WriteString(c)
		}
	}
	main.WriteString(`
func show(value string) {
	canonical, err := couponCode{}.Canonical(value)
	if refused, ok := errors.AsType[*dibs.Refusal](err); ok {
		canonical = refused.Rule + " " + refused.Try
	}
	fmt.Printf("%q\n", canonical)
}

func main() {
`)
	tables := labelledTables(t, readText(t, namesPage))
	for _, row := range tables["becomes: couponCode{}"] {
		fmt.Fprintf(&main, "\tshow(%q)\n", quoted(row[0]))
		fmt.Fprintf(&want, "%q\n", quoted(row[1]))
	}
	for _, row := range tables["refuses: couponCode{}"] {
		fmt.Fprintf(&main, "\tshow(%q)\n", quoted(row[2]))
		fmt.Fprintf(&want, "%q\n", quoted(row[0])+" "+quoted(row[3]))
	}
	main.WriteString("}\n")
	got, err := exec.CommandContext(t.Context(), buildHere(t, main.String())).CombinedOutput()
	if err != nil || string(got) != want.String() || strings.Count(string(got), "\n") < 4 {
		t.Errorf("the profile gives\n%s(%v), the page says\n%s", got, err, want.String())
	}
}

func TestNamesPageFurtherTables(t *testing.T) {
	t.Parallel()
	tables := labelledTables(t, readText(t, namesPage))
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
		rows := tables[label]
		if len(rows) < 5 {
			t.Errorf("the table %q has only %d rows", label, len(rows))
		}
		for _, row := range rows {
			if want := rowOf(row); !slices.Equal(row[:len(want)], want) {
				t.Errorf("%s: the page says %q, the code %q", label, row, want)
			}
		}
	}
	if got := len(tables["providers"]); got != len(profile.KnownProviders) {
		t.Errorf("the page has %d providers, the code %d", got, len(profile.KnownProviders))
	}
	if got := len(tables["lists"]); got != len(profile.AllLists) {
		t.Errorf("the page has %d lists, the code %d", got, len(profile.AllLists))
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

// The page names every rule by which a profile refuses values.
func TestNamesPageHasAllRules(t *testing.T) {
	t.Parallel()
	page := readText(t, namesPage)
	rules := make(map[string]bool)
	rule := regexp.MustCompile(`(?:refuse\(|return |rule: )"([a-z0-9_]+)"`)
	for _, found := range rule.FindAllStringSubmatch(readFiles(t, notTest, "profile/*.go"), -1) {
		rules[found[1]] = true
	}
	if len(rules) < 50 {
		t.Errorf("found only %d rules in package profile", len(rules))
	}
	for name := range rules {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("the page does not name the rule %s", name)
		}
	}
}
