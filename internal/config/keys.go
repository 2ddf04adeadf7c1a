package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"github.com/calldibs/dibs/internal/auth"
)

// Key is an API key that the file declares.
type Key struct {
	auth.Key
	// Hashes are the digests of its secrets that are in the file.
	Hashes []auth.Digest
	// SecretFile is the path of a file with its secrets, one a line, and SecretEnv a variable with
	// one. They are read by [Config.DeclaredKeys]: a command that needs only the policies may lack
	// the permission.
	SecretFile, SecretEnv string

	from origin
}

// readKeys reads [[keys]].
func (l *loader) readKeys(s *section) {
	for _, t := range s.tables("keys") {
		key := t.key()
		if slices.ContainsFunc(l.config.Keys, func(other Key) bool { return other.Name == key.Name }) {
			t.report("name", "duplicate key %q: to replace its secret, list both hashes in one [[keys]]", key.Name)
		}
		l.config.Keys = append(l.config.Keys, key)
	}
}

// key reads an element of [[keys]].
func (s *section) key() Key {
	key := Key{from: s.at("")}
	key.DeclaredIn = fmt.Sprintf("%s:%d", filepath.Base(key.from.File), key.from.Line)
	s.text("name", &key.Name)
	for i, text := range s.oneOrMore("hash") {
		sum, err := auth.ParseDigest(text)
		if err != nil {
			s.reportElement("hash", i, "%v", err)
			continue
		}
		key.Hashes = append(key.Hashes, sum)
	}
	s.filePath("secretFile", &key.SecretFile)
	if s.text("secretEnv", &key.SecretEnv) {
		s.loader.named = append(s.loader.named, key.SecretEnv)
	}
	s.moment("until", &key.ExpiresAt)
	key.Grants = s.grants()
	if s.has("secret") {
		s.known = append(s.known, "secret")
		s.report("secret", `a secret does not belong in this file: write its hash, as "dibs keys generate" prints it, or secretFile or secretEnv`)
	}
	s.finish()
	given := 0
	for _, source := range []string{"hash", "secretFile", "secretEnv"} {
		if s.has(source) {
			given++
		}
	}
	if given != 1 && !s.has("secret") {
		s.report("", "must have exactly one of hash, secretFile and secretEnv")
	}
	if err := key.Validate(); err != nil && (len(key.Grants) == 0 || key.Name == "") {
		s.report("", "%v", err)
	} else if err != nil {
		s.report("name", "%v", err) // a wrong grant was reported with its place
	}
	return key
}

// moment reads a time: a text, or a date of TOML.
func (s *section) moment(key string, into *time.Time) {
	switch value := s.values[key].(type) {
	case toml.LocalDate:
		s.known = append(s.known, key)
		*into = value.AsTime(time.UTC)
		return
	case time.Time:
		s.known = append(s.known, key)
		*into = value.UTC()
		return
	}
	text, ok := take[string](s, key, "a date like 2027-03-01")
	if !ok {
		return
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			*into = t.UTC()
			return
		}
	}
	s.report(key, `invalid time %q: write "2027-03-01" or "2027-03-01T15:04:05Z"`, text)
}

// DeclaredKeys returns the keys that the file declares, with the digests of their secrets, which it
// reads. Nil means the environment of the process.
func (c *Config) DeclaredKeys(environ map[string]string) ([]auth.Declared, error) {
	if environ == nil {
		environ = ProcessEnvironment()
	}
	var (
		problems Problems
		declared []auth.Declared
		seen     = make(map[auth.Digest]bool)
	)
	for _, key := range c.Keys {
		sums, err := key.digests(environ)
		if err == nil && slices.ContainsFunc(sums, func(sum auth.Digest) bool { return seen[sum] }) {
			err = fmt.Errorf("key %q has the secret of another key", key.Name)
		}
		if err != nil {
			problems = append(problems, Problem{key.from, err.Error()})
			continue
		}
		for _, sum := range sums {
			seen[sum] = true
		}
		declared = append(declared, auth.Declared{Key: key.Key, Digests: sums})
	}
	if problems != nil {
		return nil, problems
	}
	return declared, nil
}

// digests returns the digests of the key's secrets. No error contains a secret.
func (k Key) digests(environ map[string]string) (sums []auth.Digest, err error) {
	var text, from string
	switch {
	case k.SecretFile != "":
		from = "secretFile"
		text, err = readSecret(k.SecretFile)
	case k.SecretEnv != "":
		from = "secretEnv"
		if text = environ[k.SecretEnv]; text == "" {
			err = fmt.Errorf("the variable %s is not set", k.SecretEnv)
		}
	}
	sums = slices.Clone(k.Hashes)
	for secret := range strings.FieldsSeq(text) {
		sum, wrong := auth.DigestOf(secret)
		if wrong != nil {
			return nil, fmt.Errorf("%s of key %q %w", from, k.Name, wrong)
		}
		sums = append(sums, sum)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return sums, nil
}
