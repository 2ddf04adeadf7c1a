package profile_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/profile"
)

// realName is a row of testdata/realworld.tsv.
type realName struct {
	script, value            string
	slug, hostname, username string
}

func realNames(t *testing.T) []realName {
	t.Helper()
	text, err := os.ReadFile("testdata/realworld.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var names []realName
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(row) < 5 {
			t.Fatalf("%q has %d columns", line, len(row))
		}
		names = append(names, realName{row[0], row[1], row[2], row[3], row[4]})
	}
	return names
}

func TestRealNamesCoverManyScripts(t *testing.T) {
	t.Parallel()
	names, scripts := realNames(t), map[string]bool{}
	for _, n := range names {
		scripts[n.script] = true
	}
	if len(names) < 160 || len(scripts) < 20 {
		t.Errorf("%d names of %d scripts", len(names), len(scripts))
	}
}

func TestRealNamesAsSlugs(t *testing.T) {
	t.Parallel()
	for _, n := range realNames(t) {
		checkReal(t, profile.Slug{}, n.value, n.slug)
	}
}

func TestRealNamesAsHostnames(t *testing.T) {
	t.Parallel()
	for _, n := range realNames(t) {
		checkReal(t, profile.Hostname{}, n.value, n.hostname)
	}
}

// checkReal compares the result for a value with the wanted one: a canonical form, or "!" and
// the rule of the refusal.
func checkReal(t *testing.T, p dibs.Profile, value, want string) {
	t.Helper()
	got, err := p.Canonical(value)
	if refusal, ok := errors.AsType[*dibs.Refusal](err); ok {
		got = "!" + refusal.Rule
	}
	if got != want {
		t.Errorf("%s of %q is %q (%v), want %q", p.Name(), value, got, err, want)
	}
}

func TestRealNamesAsUsernames(t *testing.T) {
	t.Parallel()
	for _, n := range realNames(t) {
		got, err := profile.Username{}.Canonical(n.value)
		if err != nil {
			got = "!" // for any rule
		}
		if got != n.username {
			t.Errorf("username of %q is %q (%v), want %q", n.value, got, err, n.username)
		}
	}
}
