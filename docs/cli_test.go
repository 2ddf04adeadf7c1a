package docs_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/cli"
)

var (
	verbName = regexp.MustCompile(`^[a-z-]+(?: [a-z-]+)*`)
	flagName = regexp.MustCompile(`--[a-z-]+`)
)

// The table of verbs in docs/cli.md has those of the program, and only flags that they have.
func TestCLIPageHasEveryVerb(t *testing.T) {
	t.Parallel()
	_, table, _ := strings.Cut(readText(t, "docs/cli.md"), "## The verbs\n")
	table, _, _ = strings.Cut(table, "\n\nEvery verb")
	listed := make(map[string]bool)
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		if len(cells) < 3 {
			continue
		}
		for _, usage := range allQuoted(cells[1]) {
			name := nameOf(usage)
			listed[name] = true
			help := helpOf(t, name)
			for _, f := range flagName.FindAllString(row, -1) {
				if !strings.Contains(help, f+" ") && !strings.Contains(help, f+"\n") && name != "version" {
					t.Errorf("dibs %s has no %s", name, f)
				}
			}
		}
	}
	sameSet(t, "verbs", slices.Collect(maps.Keys(listed)), verbs(t))
}

// nameOf returns the words of a usage such as "webhook dead list WEBHOOK" before its arguments.
func nameOf(usage string) string {
	if name, _, found := strings.Cut(usage, " alice="); found {
		usage = name
	}
	usage, _, _ = strings.Cut(usage, " -")
	return strings.TrimSpace(verbName.FindString(usage))
}

// verbs returns the verbs that the program explains, without groups, and without those that it calls itself.
func verbs(t *testing.T) (list []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`(?m)^## (.+)$`).FindAllStringSubmatch(readText(t, "internal/cli/help.txt"), -1) {
		list = append(list, nameOf(m[1]))
	}
	list = append(list, "completion")
	all := slices.Clone(list)
	return slices.DeleteFunc(list, func(name string) bool {
		group := slices.ContainsFunc(all, func(other string) bool { return strings.HasPrefix(other, name+" ") })
		works := name == "bench" || name == "clock" // they are groups, and work without another word
		return slices.Contains([]string{"dibs", "demo-customer", "manual"}, name) || group && !works
	})
}

func helpOf(t *testing.T, name string) string {
	t.Helper()
	var out strings.Builder
	process := cli.Process{Args: append(strings.Fields(name), "--help"), Stdout: &out, Stderr: &out}
	if code := process.Run(); code != 0 {
		t.Errorf("dibs %s --help exits with %d\n%s", name, code, &out)
	}
	return out.String()
}
