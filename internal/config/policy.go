package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
	"github.com/calldibs/dibs/profile"
)

// policySettings are the settings of a policy. They inherit those of the type, or of the
// default.
type policySettings struct {
	policy      dibs.Policy // the fields that are set directly
	profile     string      // empty means exact
	options     *section    // of the profile
	oneScript   bool
	confusables bool
	blind       bool
	witness     string     // its name; empty means none
	words       *section   // reserved words
	from        []*section // where the settings were read, nearest first
	byDefault   checks     // the checks of the type that are on unless a table says otherwise
}

// checks are those of [profile.Defaults].
type checks struct {
	words                  dibs.Words // nil means none
	oneScript, confusables bool
}

// typeProfiles are the types that have the profile of the same name.
var typeProfiles = []string{"slug", "username", "email", "hostname"}

// buildPolicies makes the policies. The policy of "acme.slug" inherits from that of "slug", which
// inherits from [default].
func (l *loader) buildPolicies() {
	sections := l.policySections()
	none := &section{loader: l}
	fallback := policySettings{options: none, words: none}
	fallback.read(l.root.table("default"))
	l.config.Default = l.build("", fallback)
	l.config.Policies, l.config.Former = make(map[string]dibs.Policy), make(map[string]dibs.Policy)

	types := make(map[string]policySettings)
	for _, name := range typeProfiles {
		d := fallback
		d.profile, d.options = name, none
		d.byDefault = l.defaultChecks(name)
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
		l.add(name, d)
	}
	for name, d := range types {
		l.add(name, d)
	}
}

// add adds the policy of a type or a namespace, and what it was before the defaults had checks.
func (l *loader) add(name string, d policySettings) {
	policy := l.build(name, d)
	l.config.Policies[name] = policy
	former := policy
	if d.oneScriptByDefault() && !d.oneScript {
		former.Profile = d.buildProfile(l)
	}
	if d.confusablesByDefault() && !d.confusables {
		former.Skeleton = nil
	}
	l.config.Former[name] = former
}

// defaultChecks returns the checks of a type that has a built-in policy.
func (l *loader) defaultChecks(kind string) checks {
	d := l.config.Defaults
	named := kind == "username"
	return checks{words: d.Words(kind), oneScript: named && !d.AllowMixedScripts, confusables: named && !d.AllowLookAlikes}
}

// oneScriptByDefault and confusablesByDefault report whether a check is on because no table says
// otherwise.
func (d *policySettings) oneScriptByDefault() bool {
	return d.byDefault.oneScript && !d.set("oneScript")
}

func (d *policySettings) confusablesByDefault() bool {
	return d.byDefault.confusables && !d.set("confusables")
}

// set reports whether the table of the namespace or of its type sets a key. As with profiles, a type
// with a built-in policy has its checks whatever [default] says.
func (d *policySettings) set(key string) bool {
	return slices.ContainsFunc(d.from[:len(d.from)-1], func(s *section) bool { return s.has(key) })
}

func (l *loader) policySections() map[string]*section {
	sections := make(map[string]*section)
	all := l.root.table("policies")
	for name, value := range all.values {
		// In TOML [policies.acme.slug] is a table in a table, not policies."acme.slug".
		if inner, ok := value.(map[string]any); ok && onlyTables(inner) {
			first := slices.Sorted(maps.Keys(inner))[0]
			all.report(name, `a namespace with a dot must be quoted: write [policies.%q]`, name+"."+first)
			continue
		}
		if s := all.table(name); s.values != nil {
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
	changed := s.text("profile", &d.profile) // inherited options belong to another profile
	if options := s.table("profileOptions"); changed || options.values != nil {
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
	if words := s.table("reservedWords"); words.values != nil {
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
	return d.from[0].at("")
}

// build makes a policy from its settings, and reports its errors. The name is empty for the
// default policy.
func (l *loader) build(name string, d policySettings) dibs.Policy {
	p := d.policy
	p.Profile = d.buildProfile(l)
	if d.oneScript || d.oneScriptByDefault() {
		p.Profile = profile.OneScript(p.Profile)
	}
	if d.confusables || d.confusablesByDefault() {
		p.Skeleton = profile.Confusables
	}
	p.ReservedWords = buildWords(d.words)
	if p.ReservedWords == nil && !d.set("reservedWords") {
		p.ReservedWords = d.byDefault.words
	}
	if d.blind {
		p.Blind = l.keys
		if len(p.Blind) == 0 && !l.brokenKeys {
			l.report(d.at("blind"), "needs a key: add one in [[blindKeys]], or set %s", blindKeysVariable)
		}
	}
	p.Witness = l.witness(d)
	if name != "" {
		if err := rules.CheckNamespace(name); err != nil {
			l.report(d.at(""), "%s", err.Message)
			return p
		}
	}
	err := rules.CheckPolicy(p)
	if invalid, ok := errors.AsType[*rules.PolicyError](err); ok {
		l.report(d.at(strings.ToLower(invalid.Field[:1])+invalid.Field[1:]), "%s", invalid.Problem)
	} else if err != nil {
		l.report(d.at(""), "%v", err)
	}
	return p
}

// buildProfile makes the profile that a policy names, with its options.
func (d *policySettings) buildProfile(l *loader) dibs.Profile {
	options := d.options
	options.known = nil
	defer options.finish()
	switch d.profile {
	case "", "exact":
		return dibs.Exact
	case "slug":
		var p profile.Slug
		options.count("maxLength", 1, 255, &p.MaxLength)
		options.boolean("strict", &p.Strict)
		return p
	case "username":
		var p profile.Username
		options.count("minLength", 1, 1024, &p.MinLength)
		options.count("maxLength", 1, 1024, &p.MaxLength)
		if most := cmp.Or(p.MaxLength, 64); p.MinLength > most { // 64 is the profile's default
			options.report("minLength", "is %d; it must be at most maxLength, which is %d", p.MinLength, most)
		}
		return p
	case "email":
		var p profile.Email
		options.boolean("caseSensitive", &p.CaseSensitive)
		p.Providers = providers(options)
		return p
	case "hostname":
		return profile.Hostname{}
	default:
		l.report(d.at("profile"), "unknown profile %q: use exact, %s", d.profile, strings.Join(typeProfiles, ", "))
		options.values = nil
		return dibs.Exact
	}
}

// providers reads the mail providers whose rules apply. "all" means all known ones.
func providers(options *section) (chosen []profile.Provider) {
	for i, name := range options.list("providers") {
		if name == "all" {
			return slices.Clone(profile.KnownProviders)
		}
		provider, err := find("provider", name, profile.KnownProviders, func(p profile.Provider) string { return p.Name })
		if err != nil {
			options.reportElement("providers", i, "%v, or all", err)
			continue
		}
		chosen = append(chosen, provider)
	}
	return chosen
}

// buildWords makes the reserved words of a table. Nil means none.
func buildWords(s *section) dibs.Words {
	s.known = nil
	defer s.finish()
	w := profile.Words{Own: s.list("words"), Patterns: s.list("patterns"), Except: s.list("except")}
	s.boolean("lookAlikes", &w.LookAlikes)
	w.Lists = parseEach(s, "lists", func(name string) (profile.List, error) {
		return find("list", name, profile.AllLists, func(l profile.List) string { return l.Name })
	})
	s.checkEach("words", w.Own, func(word string) profile.Words { return profile.Words{Own: []string{word}} })
	s.checkEach("patterns", w.Patterns, func(pattern string) profile.Words { return profile.Words{Patterns: []string{pattern}} })
	if len(w.Lists)+len(w.Own)+len(w.Patterns) == 0 {
		return nil
	}
	words, err := profile.ReservedWords(w)
	if err != nil {
		return nil // checkEach has reported it
	}
	return words
}

// checkEach reports invalid words or patterns, each on its own line.
func (s *section) checkEach(key string, texts []string, words func(string) profile.Words) {
	for i, text := range texts {
		if _, err := profile.ReservedWords(words(text)); err != nil {
			s.reportElement(key, i, "%s", strings.TrimPrefix(err.Error(), "profile: reserved words: "))
		}
	}
}

// find returns the one with a name, or an error with all names.
func find[T any](what, name string, all []T, nameOf func(T) string) (found T, err error) {
	var names []string
	for _, item := range all {
		if nameOf(item) == name {
			return item, nil
		}
		names = append(names, nameOf(item))
	}
	return found, fmt.Errorf("unknown %s %q: use %s", what, name, strings.Join(names, ", "))
}
