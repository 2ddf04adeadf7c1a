package profile

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// script is a writing system: an index into the names of scripts.
type script uint8

const (
	anyScript     script = iota // for characters that go with every script: digits, hyphens, accents
	unknownScript               // for characters that this version of Unicode does not have
)

// scriptRange is a range of characters of one script.
type scriptRange struct {
	first, last rune
	script      script
}

// scriptTable has all of Go's tables in one, to find the script of a character in one search.
type scriptTable struct {
	names  []string
	ranges []scriptRange // sorted
}

var scripts = sync.OnceValue(func() *scriptTable {
	t := &scriptTable{names: []string{anyScript: "any", unknownScript: "an unknown script"}}
	for _, name := range slices.Sorted(maps.Keys(unicode.Scripts)) {
		s := anyScript
		if name != "Common" && name != "Inherited" {
			s = script(len(t.names)) // of about 170
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
	i, found := slices.BinarySearchFunc(t.ranges, r, func(in scriptRange, r rune) int {
		if in.last < r {
			return -1
		}
		return max(cmp.Compare(in.first, r), 0)
	})
	if !found {
		return unknownScript
	}
	return t.ranges[i].script
}

// named returns the script with a name.
func (t *scriptTable) named(name string) script { return script(slices.Index(t.names, name)) }
