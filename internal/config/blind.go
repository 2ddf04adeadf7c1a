package config

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/calldibs/dibs"
)

// blindKeysVariable names the variable with all blind keys, newest first: "id:secret,id:secret".
const blindKeysVariable = "DIBS_BLIND_KEYS"

// keyID is the form of a key's id.
var keyID = regexp.MustCompile(`^[a-z0-9]{1,16}$`)

const (
	minSecret    = 32
	maxBlindKeys = 4
)

// readBlindKeys reads the keys from the environment, or else from the file.
func (l *loader) readBlindKeys(environ map[string]string) {
	before := len(l.problems)
	defer func() { l.brokenKeys = len(l.problems) > before }()
	if text := environ[blindKeysVariable]; text != "" {
		at := variable(environ, blindKeysVariable)
		for i, entry := range strings.Split(text, ",") {
			id, secret, found := strings.Cut(strings.TrimSpace(entry), ":")
			if !found {
				l.report(at, "number %d has no id: write id:secret,id:secret, newest first", i+1)
				continue
			}
			l.addBlindKey(at, at, id, secret)
		}
		return
	}
	for _, s := range l.root.tables("blindKeys") {
		l.readBlindKey(s, environ)
	}
}

func (l *loader) readBlindKey(s *section, environ map[string]string) {
	var id string
	s.text("id", &id)
	secret, key, ok := s.secret("secret", environ)
	s.finish()
	switch {
	case !ok:
	case secret == "":
		s.report("", "must have one of secret, secretFile and secretEnv")
	default:
		l.addBlindKey(s.at("id"), s.at(key), id, secret)
	}
}

// addBlindKey checks and adds a key. No error contains the secret.
func (l *loader) addBlindKey(idAt, secretAt origin, id, secret string) {
	key := dibs.BlindKey{ID: id}
	var err error
	if key.Secret, err = decodeSecret(strings.TrimSpace(secret)); err != nil {
		l.report(secretAt, "key %q: %v", id, err)
		return
	}
	switch {
	case !keyID.MatchString(id):
		l.report(idAt, "must be 1 to 16 of a-z and 0-9")
	case slices.ContainsFunc(l.keys, func(key dibs.BlindKey) bool { return key.ID == id }):
		l.report(idAt, "duplicate id %q", id)
	case len(l.keys) == maxBlindKeys:
		l.report(idAt, "more than %d keys: remove the oldest once all names are rekeyed", maxBlindKeys)
	default:
		l.keys = append(l.keys, key)
	}
}

// decodeSecret decodes hexadecimal digits, or else base64 in either alphabet.
func decodeSecret(text string) ([]byte, error) {
	secret, err := hex.DecodeString(text)
	if err != nil {
		plain := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
		if secret, err = base64.RawStdEncoding.DecodeString(plain); err != nil {
			return nil, errors.New("the secret is neither base64 nor hexadecimal: make one with `openssl rand -base64 32`")
		}
	}
	if len(secret) < minSecret {
		return nil, fmt.Errorf("the secret has %d bytes; it must have at least %d: make one with `openssl rand -base64 32`",
			len(secret), minSecret)
	}
	return secret, nil
}
