package config

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// lines are the lines on which keys, tables and elements of lists begin, by path:
// "listen", `policies."acme.slug".maxTTL`, "blindKeys[0].id".
type lines map[string]int

// linesOf finds them. The document must be known to be well-formed.
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
	counts   map[string]int // how many elements the lists of tables have so far
	table    string         // the one that the lines belong to
}

// keys appends the parts of a key to a path, and notes the line of each that is new. It
// returns where the last one is.
func (w *walker) keys(path string, parts unstable.Iterator) (full string, at unstable.Range) {
	for parts.Next() {
		// A table within a list of tables belongs to the last one of the list.
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

// value notes what is inside of a value.
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

// line returns the line of a path, or of what it is in, or 0.
func (l lines) line(path string) int {
	for path != "" {
		if line, ok := l[path]; ok {
			return line
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return 0
}

// join appends a key to a path, quoted where TOML needs it to be.
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
