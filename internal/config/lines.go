package config

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

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
