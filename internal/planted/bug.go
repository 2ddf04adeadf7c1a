package main

import (
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// bug is a change that breaks something, and the test that must notice. bugs.toml describes the
// fields.
type bug struct {
	File    string
	Old     string
	New     string
	Bug     string
	Package string
	Test    string
}

func (b bug) String() string { return fmt.Sprintf("%s: %s", b.File, b.Bug) }

func readBugs(list string) ([]bug, error) {
	data, err := os.ReadFile(list)
	if err != nil {
		return nil, err
	}
	var content struct{ Bug []bug }
	decoder := toml.NewDecoder(strings.NewReader(string(data)))
	if err := decoder.DisallowUnknownFields().Decode(&content); err != nil {
		return nil, fmt.Errorf("%s: %w", list, err)
	}
	return content.Bug, nil
}

// plant returns the file with the bug.
func (b bug) plant(root string) ([]byte, error) {
	data, err := os.ReadFile(path.Join(root, b.File))
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(data), b.Old); n != 1 {
		return nil, fmt.Errorf("%s has %d times the text %q, want once: change bugs.toml with the code", b.File, n, b.Old)
	}
	if b.New == b.Old {
		return nil, fmt.Errorf("%s: the text %q is not changed", b.File, b.Old)
	}
	return []byte(strings.Replace(string(data), b.Old, b.New, 1)), nil
}

// part is the name of the list on the page.
const part = "planted bugs"

// table returns the bugs as a table of Markdown.
func table(bugs []bug) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d bugs:\n\n| file | bug | found by |\n|---|---|---|\n", len(bugs))
	for _, bug := range bugs {
		test := "`" + bug.Test + "`"
		if bug.Package != path.Dir(bug.File) && !strings.HasPrefix(bug.Package, "clients/") {
			test = "`" + bug.Package + "`: " + test
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", bug.File, bug.Bug, test)
	}
	return b.String()
}
