package profile

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// script is a writing system: an index into the names of scripts.
type script uint8

const (
	anyScript     script = iota // what goes with every script: digits, hyphens, accents
	unknownScript               // what this version of Unicode does not know
)

// scriptRange is a run of characters of one script.
type scriptRange struct {
	first, last rune
	script      script
}

// scriptTable is all of Go's tables in one, to find a character's script at once.
type scriptTable struct {
	names  []string
	ranges []scriptRange // in order
}

var scripts = sync.OnceValue(func() *scriptTable {
	t := &scriptTable{names: []string{anyScript: "any", unknownScript: "an unknown script"}}
	names := make([]string, 0, len(unicode.Scripts))
	for name := range unicode.Scripts {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		s := anyScript
		if name != "Common" && name != "Inherited" {
			s = script(len(t.names)) // there are some 170
			t.names = append(t.names, strings.ReplaceAll(name, "_", " "))
		}
		t.add(unicode.Scripts[name], s)
	}
	slices.SortFunc(t.ranges, func(a, b scriptRange) int { return cmp.Compare(a.first, b.first) })
	return t
})

func (t *scriptTable) add(table *unicode.RangeTable, s script) {
	for _, r := range table.R16 {
		t.addRange(rune(r.Lo), rune(r.Hi), rune(r.Stride), s)
	}
	for _, r := range table.R32 {
		t.addRange(rune(r.Lo), rune(r.Hi), rune(r.Stride), s)
	}
}

func (t *scriptTable) addRange(first, last, stride rune, s script) {
	if stride == 1 {
		t.ranges = append(t.ranges, scriptRange{first, last, s})
		return
	}
	for r := first; r <= last; r += stride {
		t.ranges = append(t.ranges, scriptRange{r, r, s})
	}
}

// of returns the script of a character.
func (t *scriptTable) of(r rune) script {
	i, found := slices.BinarySearchFunc(t.ranges, r, func(run scriptRange, r rune) int {
		switch {
		case run.last < r:
			return -1
		case run.first > r:
			return 1
		default:
			return 0
		}
	})
	if !found {
		return unknownScript
	}
	return t.ranges[i].script
}

// named returns the script of that name.
func (t *scriptTable) named(name string) script { return script(slices.Index(t.names, name)) }
