package config

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/calldibs/dibs"
)

// blindKeysVariable has all keys, the newest first: "id:secret,id:secret".
const blindKeysVariable = "DIBS_BLIND_KEYS"

const (
	minSecret    = 32
	maxBlindKeys = 4
)

// blindKeys are the keys of blind namespaces.
type blindKeys struct {
	list   []dibs.BlindKey
	broken bool // one of them could not be read, which was reported
}

// readBlindKeys takes them from the environment, or else from the file.
func (l *loader) readBlindKeys(environ map[string]string) {
	if text := environ[blindKeysVariable]; text != "" {
		at := origin{setting: blindKeysVariable}
		if environ[blindKeysVariable+"_FILE"] != "" {
			at.setting += "_FILE"
		}
		for i, entry := range strings.Split(text, ",") {
			id, secret, found := strings.Cut(strings.TrimSpace(entry), ":")
			if !found {
				l.report(at, "number %d has no id: write id:secret,id:secret, the newest first", i+1)
				l.keys.broken = true
				continue
			}
			l.addBlindKey(at, at, id, secret)
		}
		return
	}
	if l.file == nil {
		return
	}
	for _, s := range l.file.blindKeys {
		l.readBlindKey(s, environ)
	}
}

// readBlindKey takes one key of the file. Its secret is in the file itself, in another
// one, or in a variable.
func (l *loader) readBlindKey(s *section, environ map[string]string) {
	var id, secret, secretFile, secretEnv string
	s.text("id", &id)
	s.text("secret", &secret)
	s.text("secretFile", &secretFile)
	s.text("secretEnv", &secretEnv)
	s.finish()
	given := 0
	for _, text := range []string{secret, secretFile, secretEnv} {
		if text != "" {
			given++
		}
	}
	at, err := s.at("secret"), error(nil)
	switch {
	case given != 1:
		at, err = s.at(""), errors.New("must have exactly one of secret, secretFile and secretEnv")
	case secretFile != "":
		at = s.at("secretFile")
		secret, err = readSecret(l.file.beside(secretFile))
	case secretEnv != "":
		at = s.at("secretEnv")
		if secret = environ[secretEnv]; secret == "" {
			err = fmt.Errorf("the variable %s is not set", secretEnv)
		}
	}
	if err != nil {
		l.report(at, "%v", err)
		l.keys.broken = true
		return
	}
	l.addBlindKey(s.at("id"), at, id, secret)
}

// addBlindKey checks a key. Its secret is in no error.
func (l *loader) addBlindKey(idAt, secretAt origin, id, secret string) {
	key := dibs.BlindKey{ID: id}
	var err error
	if key.Secret, err = decodeSecret(strings.TrimSpace(secret)); err != nil {
		l.report(secretAt, "key %q: %v", id, err)
		l.keys.broken = true
		return
	}
	switch {
	case !isKeyID(id):
		l.report(idAt, "a key's id is 1 to 16 of a-z and 0-9")
	case l.keys.has(id):
		l.report(idAt, "two keys have the id %q", id)
	case len(l.keys.list) == maxBlindKeys:
		l.report(idAt, "there can be at most %d keys: remove the oldest once all names are rekeyed", maxBlindKeys)
	default:
		l.keys.list = append(l.keys.list, key)
		return
	}
	l.keys.broken = true
}

func (b *blindKeys) has(id string) bool {
	for _, key := range b.list {
		if key.ID == id {
			return true
		}
	}
	return false
}

func isKeyID(id string) bool {
	for i := range len(id) {
		if c := id[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return id != "" && len(id) <= 16
}

// decodeSecret reads hexadecimal digits or base64, in either alphabet. What is all
// hexadecimal digits is taken for such.
func decodeSecret(text string) ([]byte, error) {
	secret, err := hex.DecodeString(text)
	if err != nil {
		plain := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
		if secret, err = base64.RawStdEncoding.DecodeString(plain); err != nil {
			return nil, errors.New("the secret is neither base64 nor hexadecimal: make one by `openssl rand -base64 32`")
		}
	}
	if len(secret) < minSecret {
		return nil, fmt.Errorf("the secret has %d bytes, it must have at least %d: make one by `openssl rand -base64 32`", len(secret), minSecret)
	}
	return secret, nil
}
