package docs_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/calldibs/dibs/dibsclient"
)

// numberIn returns the number in a file at the place that a pattern describes.
func numberIn(t *testing.T, path, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(readText(t, path))
	if found == nil {
		t.Fatalf("%s has no %s", path, pattern)
	}
	return found[1]
}

// One table says how often clients repeat a call, with the numbers of the clients.
func TestRetriesAreInOneTable(t *testing.T) {
	t.Parallel()
	var got []string
	for _, row := range labelledTables(t, readText(t, "docs/api.md"))["retries"] {
		got = append(got, row[0]+": "+strings.SplitN(row[1], ",", 2)[0])
	}
	sameSet(t, "how often clients repeat a call", got, []string{
		"TypeScript: for " + numberIn(t, "clients/typescript/src/http.ts", `timeoutMs \?\? (\d+)_000`) + " s",
		"Python: for " + numberIn(t, "clients/python/calldibs.py", `timeout: float = (\d+)\.0`) + " s",
		fmt.Sprintf("Go: %d times", dibsclient.DefaultRetries),
	})
	if attempt := fmt.Sprintf("each attempt takes %d s at most", dibsclient.DefaultTimeout/time.Second); !strings.Contains(readText(t, "docs/api.md"), attempt) {
		t.Errorf("the page does not say %q", attempt)
	}
	again := regexp.MustCompile(`(?i)(repeat|again|retr)[^.|]* (15|fifteen|three|3) (s|sec\w+|times)\b`)
	for _, page := range markdown(t) {
		if !outward(page) {
			continue
		}
		// Paragraphs are longer than lines.
		for paragraph := range strings.SplitSeq(outsideOfBlocks(t, page), "\n\n") {
			if number := again.FindString(strings.Join(strings.Fields(paragraph), " ")); number != "" && strings.Contains(strings.ToLower(paragraph), "client") {
				t.Errorf("%s has a number of its own for what clients repeat: %s; link to api.md#sending-a-request-again", page, number)
			}
		}
	}
}

// The pages agree on where the clients come from.
func TestClientsComeFromAClone(t *testing.T) {
	t.Parallel()
	published := regexp.MustCompile(`npm (install|i|add) @calldibs|pip3? install calldibs|(yarn|pnpm|bun) add @calldibs`)
	for _, page := range markdown(t) {
		if text := published.FindString(readText(t, strings.TrimPrefix(page, root+string(filepath.Separator)))); text != "" && outward(page) {
			t.Errorf("%s says %q: npm and PyPI do not have the clients", page, text)
		}
	}
	for path, says := range map[string]string{"docs/install.md": "npm and PyPI do not have these clients", "clients/python/README.md": "PyPI does not have it", "clients/typescript/README.md": "npm does not have it"} {
		if !strings.Contains(readText(t, path), says) {
			t.Errorf("%s does not say %q", path, says)
		}
	}
}

// A key that reserves and confirms can also extend: hold and Do need it.
func TestKeysThatHoldCanExtend(t *testing.T) {
	t.Parallel()
	lists := regexp.MustCompile(`--may ([\w,]+)|may = (\[[^\]]*\]|"\w+")|"verbs": (\[[^\]]*\])|with the rights? ([^.:;]*)`)
	found := 0
	for _, page := range markdown(t) {
		for _, m := range lists.FindAllStringSubmatch(readText(t, strings.TrimPrefix(page, root+string(filepath.Separator))), -1) {
			verbs := strings.FieldsFunc(strings.Join(m[1:], " "), func(r rune) bool { return !unicode.IsLetter(r) })
			found++
			if slices.Contains(verbs, "reserve") && slices.Contains(verbs, "confirm") && !slices.Contains(verbs, "extend") {
				t.Errorf("%s has a key that cannot extend: %s", page, m[0])
			}
		}
	}
	if found < 15 {
		t.Errorf("found only %d lists of rights", found)
	}
}
