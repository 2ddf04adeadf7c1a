package config

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/calldibs/dibs"
)

// draft is a policy while it is read. What it does not set it has from the draft that it
// was copied from.
type draft struct {
	policy      dibs.Policy // only what needs no further thought
	profile     string      // empty: exact
	options     *section    // of the profile, or nil
	oneScript   bool
	confusables bool
	blind       bool
	witness     string     // its name; empty: none
	words       *section   // reserved ones, or nil
	from        []*section // where its settings were read, the nearest first
}

// typeProfiles are the types that have the profile of the same name.
var typeProfiles = []string{"slug", "username", "email", "hostname"}

// buildPolicies makes the policies. One for "acme.slug" starts as that for "slug", and
// that as [default].
func (l *loader) buildPolicies() {
	judge, err := newJudge()
	if err != nil {
		l.report(origin{}, "%v", err)
		return
	}
	defer judge.close()
	sections := l.policySections()
	var fallback draft
	if l.file != nil && l.file.fallback != nil {
		fallback.read(l.file.fallback)
	}
	l.config.Default = l.build(judge, "", fallback)
	l.config.Policies = make(map[string]dibs.Policy)

	types := make(map[string]draft)
	for _, name := range typeProfiles {
		types[name] = fallback.withProfile(name)
	}
	// Types have no dot in them. They come first, since namespaces start as they are.
	names := slices.SortedFunc(maps.Keys(sections), func(a, b string) int {
		return strings.Count(a, ".") - strings.Count(b, ".")
	})
	for _, name := range names {
		kind := name[strings.LastIndexByte(name, '.')+1:]
		d, known := types[kind]
		if !known {
			d = fallback
		}
		d.read(sections[name])
		if name == kind {
			types[name] = d
			continue
		}
		l.config.Policies[name] = l.build(judge, name, d)
	}
	for name, d := range types {
		l.config.Policies[name] = l.build(judge, name, d)
	}
}

// policySections returns the tables of the policies by name.
func (l *loader) policySections() map[string]*section {
	sections := make(map[string]*section)
	if l.file == nil || l.file.policies == nil {
		return sections
	}
	all := l.file.policies
	for name, value := range all.values {
		// [policies.acme.slug] would be a table in a table. What is meant is clear.
		if inner, ok := value.(map[string]any); ok && onlyTables(inner) {
			first := slices.Sorted(maps.Keys(inner))[0]
			all.report(name, `a namespace with a dot is quoted: write [policies.%q]`, name+"."+first)
			continue
		}
		if s := all.table(name); s != nil {
			sections[name] = s
		}
	}
	return sections
}

func onlyTables(values map[string]any) bool {
	for key, value := range values {
		if _, ok := value.(map[string]any); !ok || key == "reservedWords" || key == "profileOptions" {
			return false
		}
	}
	return len(values) > 0
}

// withProfile returns a copy with the profile of a type.
func (d draft) withProfile(name string) draft {
	d.profile, d.options = name, nil
	return d
}

// read takes what a table sets.
func (d *draft) read(s *section) {
	d.from = append([]*section{s}, d.from...)
	if s.text("profile", &d.profile) {
		d.options = nil // they were those of another one
	}
	if options := s.table("profileOptions"); options != nil {
		d.options = options
	}
	s.boolean("oneScript", &d.oneScript)
	p := &d.policy
	s.span("minTTL", time.Millisecond, &p.MinTTL)
	s.span("defaultTTL", time.Millisecond, &p.DefaultTTL)
	s.span("maxTTL", time.Millisecond, &p.MaxTTL)
	s.span("maxHold", time.Millisecond, &p.MaxHold)
	s.count("maxHolds", 0, 10_000, &p.MaxHolds)
	s.span("holdHistory", dibs.MinHoldHistory, &p.HoldHistory)
	s.boolean("manyPerEntity", &p.ManyPerEntity)
	s.span("quarantine", 0, &p.Quarantine)
	s.spanOrForever("aliasRetention", &p.AliasRetention)
	s.oneOf("redirectStatus", &p.RedirectStatus, 301, 302, 307, 308)
	s.oneOf("archivedStatus", &p.ArchivedStatus, 404, 410)
	if words := s.table("reservedWords"); words != nil {
		d.words = words
	}
	s.boolean("confusables", &d.confusables)
	s.boolean("blind", &d.blind)
	s.text("witness", &d.witness)
	s.finish()
}

// at is where a setting of the policy was set; if it was not, where its table begins.
func (d *draft) at(key string) origin {
	for _, s := range d.from {
		if s.has(key) {
			return s.at(key)
		}
	}
	if len(d.from) == 0 {
		return origin{}
	}
	return d.from[0].at("")
}
