package docs_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// inward are words by which a page speaks to its authors, about their plans and their work, and not
// to its readers, about what they have.
var inward = regexp.MustCompile(`(?i)\b(?:we|us|our|ours|todo|fixme|tbd|wip|work in progress|coming soon|roadmap|milestone|backlog|` +
	`hopefully|unfortunately|sorry|someday|planned|unreleased|not implemented|(?:next|future) (?:version|release)|` +
	`(?:done|built|tried|tested|measured|compared|written|supported|implemented|reached) yet)\b|\bissue #?\d`)

// outward are pages for those who use Dibs.
func outward(page string) bool {
	switch name := filepath.ToSlash(strings.TrimPrefix(page, root+string(filepath.Separator))); name {
	case "CHANGELOG.md", "CONTRIBUTING.md", "docs/releasing.md", "dashboard/README.md":
		return false
	default:
		return !strings.HasPrefix(name, "docs/decisions/")
	}
}

// quotation is what a page only cites: code, and what other people say.
var quotation = regexp.MustCompile("`[^`\n]*`|\"[^\"\n]*\"")

// Pages for users tell what is, and not what their authors want, plan or regret.
func TestPagesSpeakToTheirReaders(t *testing.T) {
	t.Parallel()
	read := 0
	for _, page := range markdown(t) {
		if !outward(page) {
			continue
		}
		read++
		for line := range strings.Lines(outsideOfBlocks(t, page)) {
			if word := inward.FindString(quotation.ReplaceAllString(line, "")); word != "" {
				t.Errorf("%s speaks to its authors (%q): %s", page, word, strings.TrimSpace(line))
			}
		}
	}
	if read < 40 {
		t.Errorf("only %d pages are for users", read)
	}
	for _, text := range []string{"None of these reaches what we want yet.", "This was not done yet on any machine.", "TODO: say more"} {
		if !inward.MatchString(text) {
			t.Errorf("nothing in %q is found", text)
		}
	}
}

var (
	paragraph = regexp.MustCompile(`\n(?:[ \t]*\n)+|\n\|`)
	onlyToken = regexp.MustCompile(`(?i)nothing ends (?:a|the) hold|\bno\b[^.]*\bends (?:a|the) hold|only its (?:caller|token)|ends it sooner`)
)

// Forget ends the holds of its entity, without their tokens. A paragraph or a row that says that
// only a token ends a hold has to say so.
func TestPagesSayWhatEndsAHold(t *testing.T) {
	t.Parallel()
	said := 0
	for _, page := range markdown(t) {
		for _, text := range paragraph.Split(outsideOfBlocks(t, page), -1) {
			if !onlyToken.MatchString(text) {
				continue
			}
			said++
			if !strings.Contains(strings.ToLower(text), "forget") {
				t.Errorf("%s forgets that Forget ends a hold: %s", page, strings.TrimSpace(text))
			}
		}
	}
	if said < 5 {
		t.Errorf("only %d paragraphs say what ends a hold", said)
	}
}
