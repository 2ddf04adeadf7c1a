package config

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/calldibs/dibs"
)

// policySettings are the settings of a policy. They inherit those of the type, or of the
// default.
type policySettings struct {
	policy      dibs.Policy // the fields that are set directly
	profile     string      // empty means exact
	options     *section    // of the profile; may be nil
	oneScript   bool
	confusables bool
	blind       bool
	witness     string     // its name; empty means none
	words       *section   // reserved words; may be nil
	from        []*section // where the settings were read, nearest first
}

// typeProfiles are the types that have the profile of the same name.
var typeProfiles = []string{"slug", "username", "email", "hostname"}

// buildPolicies makes the policies. The policy of "acme.slug" inherits from that of "slug", which
// inherits from [default].
func (l *loader) buildPolicies() {
	sections := l.policySections()
	var fallback policySettings
	if l.file != nil && l.file.fallback != nil {
		fallback.read(l.file.fallback)
	}
	l.config.Default = l.build("", fallback)
	l.config.Policies = make(map[string]dibs.Policy)

	types := make(map[string]policySettings)
	for _, name := range typeProfiles {
		d := fallback
		d.profile, d.options = name, nil
		types[name] = d
	}
	// Types, which have no dot, come first: namespaces inherit from their type.
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
		l.config.Policies[name] = l.build(name, d)
	}
	for name, d := range types {
		l.config.Policies[name] = l.build(name, d)
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
		// In TOML [policies.acme.slug] is a table in a table, not policies."acme.slug".
		if inner, ok := value.(map[string]any); ok && onlyTables(inner) {
			first := slices.Sorted(maps.Keys(inner))[0]
			all.report(name, `a namespace with a dot must be quoted: write [policies.%q]`, name+"."+first)
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

// read reads the settings of a table.
func (d *policySettings) read(s *section) {
	d.from = append([]*section{s}, d.from...)
	if s.text("profile", &d.profile) {
		d.options = nil // they belong to another profile
	}
	if options := s.table("profileOptions"); options != nil {
		d.options = options
	}
	s.boolean("oneScript", &d.oneScript)
	p := &d.policy
	s.atLeast("minTTL", time.Millisecond, &p.MinTTL)
	s.atLeast("defaultTTL", time.Millisecond, &p.DefaultTTL)
	s.atLeast("maxTTL", time.Millisecond, &p.MaxTTL)
	s.atLeast("maxHold", time.Millisecond, &p.MaxHold)
	s.count("maxHolds", 0, 10_000, &p.MaxHolds)
	s.atLeast("holdHistory", dibs.MinHoldHistory, &p.HoldHistory)
	s.boolean("manyPerEntity", &p.ManyPerEntity)
	s.atLeast("quarantine", 0, &p.Quarantine)
	s.positiveOr("aliasRetention", "forever", &p.AliasRetention)
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

// at returns where a setting was set; if it was not, the start of its table.
func (d *policySettings) at(key string) origin {
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
