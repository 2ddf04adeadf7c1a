package config

import (
	"cmp"
	"slices"
	"strings"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/profile"
)

// buildProfile makes the profile that a policy names, with its options.
func (d *policySettings) buildProfile(l *loader) dibs.Profile {
	options := d.options
	if options == nil {
		options = &section{loader: l}
	}
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
		return usernameProfile(options)
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

func usernameProfile(options *section) dibs.Profile {
	p := profile.Username{}
	options.count("minLength", 1, 1024, &p.MinLength)
	options.count("maxLength", 1, 1024, &p.MaxLength)
	if most := cmp.Or(p.MaxLength, 64); p.MinLength > most { // 64 is the profile's default
		options.report("minLength", "is %d; it must be at most maxLength, which is %d", p.MinLength, most)
	}
	return p
}

// providers reads the mail providers whose rules apply. "all" means all known ones.
func providers(options *section) (chosen []profile.Provider) {
	for i, name := range options.list("providers") {
		if name == "all" {
			return slices.Clone(profile.KnownProviders)
		}
		at := slices.IndexFunc(profile.KnownProviders, func(p profile.Provider) bool { return p.Name == name })
		if at < 0 {
			known := namesOf(profile.KnownProviders, func(p profile.Provider) string { return p.Name })
			options.reportElement("providers", i, "unknown provider %q: use %s, or all", name, known)
			continue
		}
		chosen = append(chosen, profile.KnownProviders[at])
	}
	return chosen
}

// buildWords makes the reserved words of a table. Nil means none.
func buildWords(s *section) dibs.Words {
	if s == nil {
		return nil
	}
	s.known = nil
	defer s.finish()
	var w profile.Words
	s.texts("words", &w.Own)
	s.texts("patterns", &w.Patterns)
	s.texts("except", &w.Except)
	s.boolean("lookAlikes", &w.LookAlikes)
	for i, name := range s.list("lists") {
		at := slices.IndexFunc(profile.AllLists, func(l profile.List) bool { return l.Name == name })
		if at < 0 {
			s.reportElement("lists", i, "unknown list %q: use %s", name, namesOf(profile.AllLists, func(l profile.List) string { return l.Name }))
			continue
		}
		w.Lists = append(w.Lists, profile.AllLists[at])
	}
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

func namesOf[T any](list []T, name func(T) string) string {
	names := make([]string, len(list))
	for i, item := range list {
		names[i] = name(item)
	}
	return strings.Join(names, ", ")
}
