package docs_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The glossary has each word once, in alphabetical order.
func TestGlossary(t *testing.T) {
	t.Parallel()
	_, glossary, _ := strings.Cut(readText(t, "docs/concepts.md"), "\n## Glossary\n")
	var words []string
	for _, m := range regexp.MustCompile(`(?m)^\*\*(.+?)\.\*\*`).FindAllStringSubmatch(glossary, -1) {
		words = append(words, strings.ToLower(m[1]))
	}
	if len(words) < 50 {
		t.Errorf("the glossary has only %d words", len(words))
	}
	if sorted := slices.Compact(slices.Sorted(slices.Values(words))); !slices.Equal(words, sorted) {
		t.Errorf("the glossary has\n%q, want\n%q", words, sorted)
	}
}

// The diagram has the states of docs/rules.md.
func TestStates(t *testing.T) {
	t.Parallel()
	_, table, _ := strings.Cut(readText(t, "docs/rules.md"), "\n## States\n")
	table, _, _ = strings.Cut(table, "\n## ")
	var states []string
	for _, m := range regexp.MustCompile(`(?m)^\| (\w+) \| [^s]`).FindAllStringSubmatch(table, -1) {
		states = append(states, m[1])
	}
	drawn := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^ +(\w+) --> (\w+):`).FindAllStringSubmatch(readText(t, "docs/concepts.md"), -1) {
		drawn[m[1]], drawn[m[2]] = true, true
	}
	sameSet(t, "states", slices.Collect(maps.Keys(drawn)), states)
}
