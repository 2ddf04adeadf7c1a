package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one error in a configuration.
type Problem struct {
	File    string // empty if it is not about the file
	Line    int    // from 1; 0 if it is not about a line
	Setting string // as written in its source: "policies.slug.maxTTL", "DIBS_LISTEN", "--listen"
	Message string
}

// String returns "dibs.toml:12: policies.slug.maxTTL: …".
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File + ":")
		if p.Line > 0 {
			fmt.Fprintf(&b, "%d:", p.Line)
		}
		b.WriteByte(' ')
	}
	if p.Setting != "" {
		b.WriteString(p.Setting + ": ")
	}
	return b.String() + p.Message
}

// Problems are all errors in a configuration, by line.
type Problems []Problem //nolint:errname // it is a list, too

// Error returns one line for each problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// sort orders problems by line. Those without a line keep their order and come last.
func (p Problems) sort() {
	slices.SortStableFunc(p, func(a, b Problem) int {
		if (a.Line == 0) != (b.Line == 0) {
			return cmp.Compare(b.Line, a.Line)
		}
		if a.Line == 0 {
			return 0
		}
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Setting, b.Setting), cmp.Compare(a.Message, b.Message))
	})
}

// origin is where a setting was set.
type origin struct {
	file    string
	line    int
	setting string
}

// report adds a problem, but only once: several policies may inherit a wrong setting.
func (l *loader) report(at origin, format string, args ...any) {
	p := Problem{File: at.file, Line: at.line, Setting: at.setting, Message: fmt.Sprintf(format, args...)}
	if !slices.Contains(l.problems, p) {
		l.problems = append(l.problems, p)
	}
}
