package profile

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// wordPattern is a pattern with no special character other than *, split at these.
type wordPattern []string

// addPattern adds a pattern to each form.
func (r *reservedWords) addPattern(pattern string) error {
	tidy := tidyWord(pattern)
	if tidy == "" {
		return nil
	}
	glob := hideSlashes(tidy)
	if _, err := path.Match(glob, ""); err != nil {
		return fmt.Errorf("the pattern %q is invalid: a [ is not closed or empty, or a backslash is at the end", pattern)
	}
	if reservesAll(glob) {
		return fmt.Errorf("the pattern %q reserves every name", pattern)
	}
	if strings.ContainsAny(glob, `?[\`) {
		r.globs = append(r.globs, glob)
		return nil
	}
	full := strings.ContainsAny(tidy, wordSeparators)
	written := wordPattern(strings.Split(tidy, "*"))
	r.written.addPattern(written, full)
	if !r.lookAlikes {
		return nil
	}
	looks := written.each(Confusables.Skeleton)
	r.looks.addPattern(looks, full)
	if !wordHasDigit(tidy) {
		r.reads.addPattern(looks.each(func(part string) string { return string(appendRead(nil, part)) }), full)
	}
	return nil
}

func (f *wordForms) addPattern(p wordPattern, full bool) {
	if full {
		f.full = append(f.full, p)
	} else {
		f.bare = append(f.bare, p)
	}
}

// each returns the pattern with each of its parts changed.
func (p wordPattern) each(change func(part string) string) wordPattern {
	changed := slices.Clone(p)
	for i, part := range p {
		changed[i] = change(part)
	}
	return changed
}

func matchesAny(patterns []wordPattern, name string) bool {
	return slices.ContainsFunc(patterns, func(p wordPattern) bool { return p.matches(name) })
}

func (p wordPattern) matches(name string) bool {
	first, last := p[0], p[len(p)-1]
	if len(p) == 1 {
		return name == first
	}
	if len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	rest := name[len(first) : len(name)-len(last)]
	for _, part := range p[1 : len(p)-1] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return true
}

// reservesAll tries two names without a common character and of different lengths.
func reservesAll(glob string) bool {
	letters, _ := path.Match(glob, strings.Repeat("m", 12))
	digits, _ := path.Match(glob, strings.Repeat("7", 13))
	return letters && digits
}

// hideSlashes replaces slashes, which * does not match in package path, by a control
// character, which no name contains.
func hideSlashes(name string) string { return strings.ReplaceAll(name, "/", "\x00") }
