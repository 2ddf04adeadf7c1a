package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// parseFile parses the file at path; an empty path means none. Without a well-formed file the root
// is empty, and so are all tables in it.
func (l *loader) parseFile(path string) {
	l.path, l.root = path, &section{loader: l, values: make(map[string]any)}
	if path == "" {
		return
	}
	document, err := os.ReadFile(path)
	if err != nil {
		l.report(origin{File: path}, "cannot be read: %v", cause(err))
		return
	}
	tree := make(map[string]any)
	if err := toml.Unmarshal(document, &tree); err != nil {
		at := origin{File: path}
		if syntax, ok := errors.AsType[*toml.DecodeError](err); ok {
			at.Line, _ = syntax.Position()
		}
		l.report(at, "%s", strings.TrimPrefix(err.Error(), "toml: "))
		return
	}
	l.lines, l.root.values = linesOf(document), tree
}

// readSettings reads all settings that need no other ones.
func (l *loader) readSettings() {
	s := l.root
	for i, setting := range l.settings {
		s.value(setting.Key, setting.field)
		if s.has(setting.Key) {
			l.settings[i].from = s.at(setting.Key)
		}
	}
	l.readSignIn(s)
	l.readWebhooks(s.table("webhooks"))
	l.readTracing(s.table("tracing"))
	l.readLimits(s.table("limits"))
	s.known = append(s.known, "default", "policies", "witnesses", "blindKeys", "routes") // read after all settings
	s.finish()
}

// readSecret reads a file that contains a secret, and trims the space around it.
func readSecret(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("%s cannot be read: %w", path, cause(err))
	}
	secret := strings.TrimSpace(string(data))
	if secret == "" {
		return "", fmt.Errorf("%s is empty", path)
	}
	return secret, nil
}

// cause returns a file error without its path.
func cause(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err
	}
	return err
}

// lines are the line numbers of keys, tables and elements of lists, by path:
// "listen", `policies."acme.slug".maxTTL`, "blindKeys[0].id".
type lines map[string]int

// linesOf finds the lines of a well-formed document.
func linesOf(document []byte) lines {
	w := walker{document: document, found: make(lines), counts: make(map[string]int)}
	w.parser.Reset(document)
	for w.parser.NextExpression() {
		switch node := w.parser.Expression(); node.Kind {
		case unstable.Table:
			w.table, _ = w.keys("", node.Key())
		case unstable.ArrayTable:
			list, at := w.keys("", node.Key())
			w.table = element(list, w.counts[list])
			w.counts[list]++
			w.note(w.table, at)
		case unstable.KeyValue:
			w.keyValue(w.table, node)
		default:
		}
	}
	return w.found
}

type walker struct {
	document []byte
	parser   unstable.Parser
	found    lines
	counts   map[string]int // how many elements each list of tables has so far
	table    string         // the present table
}

// keys appends the parts of a key to a path, and records the line of each new part. It returns
// the position of the last part.
func (w *walker) keys(path string, parts unstable.Iterator) (full string, at unstable.Range) {
	for parts.Next() {
		// A table inside a list of tables belongs to the last element.
		if n := w.counts[path]; n > 0 {
			path = element(path, n-1)
		}
		path = join(path, string(parts.Node().Data))
		at = parts.Node().Raw
		w.note(path, at)
	}
	return path, at
}

func (w *walker) keyValue(table string, node *unstable.Node) {
	path, _ := w.keys(table, node.Key())
	w.value(path, node.Value())
}

// value records the lines inside a value.
func (w *walker) value(path string, node *unstable.Node) {
	children := node.Children()
	switch node.Kind {
	case unstable.InlineTable:
		for children.Next() {
			w.keyValue(path, children.Node())
		}
	case unstable.Array:
		for i := 0; children.Next(); i++ {
			if children.Node().Raw.Length > 0 {
				w.note(element(path, i), children.Node().Raw)
			}
			w.value(element(path, i), children.Node())
		}
	default:
	}
}

func (w *walker) note(path string, at unstable.Range) {
	if _, known := w.found[path]; !known {
		w.found[path] = 1 + bytes.Count(w.document[:at.Offset], []byte("\n"))
	}
}

// line returns the line of a path, or of the nearest parent, or 0.
func (l lines) line(path string) int {
	for path != "" {
		if line, ok := l[path]; ok {
			return line
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return 0
}

// join appends a key to a path, quoted if TOML requires it.
func join(path, key string) string {
	if key == "" || slices.ContainsFunc([]byte(key), notBare) {
		key = strconv.Quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func notBare(c byte) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_'
}

func element(list string, index int) string { return list + "[" + strconv.Itoa(index) + "]" }

// Problem is one error in a configuration.
type Problem struct {
	origin
	Message string
}

// origin is where a setting was set.
type origin struct {
	File    string // empty if it is not in the file
	Line    int    // from 1; 0 if it is not on a line
	Setting string // as written in its source: "policies.slug.maxTTL", "DIBS_LISTEN", "--listen"
}

// String returns "dibs.toml:12: policies.slug.maxTTL: …".
func (p Problem) String() string {
	text := p.Message
	if p.Setting != "" {
		text = p.Setting + ": " + text
	}
	switch {
	case p.File == "":
		return text
	case p.Line == 0:
		return p.File + ": " + text
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, text)
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

// report adds a problem, but only once: several policies may inherit a wrong setting.
func (l *loader) report(at origin, format string, args ...any) {
	p := Problem{at, fmt.Sprintf(format, args...)}
	if !slices.Contains(l.problems, p) {
		l.problems = append(l.problems, p)
	}
}
