package rules

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"

	"github.com/calldibs/dibs"
)

const (
	minBlindSecret = 32
	maxBlindKeys   = 4
	maxBlindKeyID  = 16
)

func checkBlind(keys []dibs.BlindKey) error {
	if len(keys) > maxBlindKeys {
		return fmt.Errorf("there are %d keys in Blind, more than the %d allowed", len(keys), maxBlindKeys)
	}
	seen := make(map[string]bool)
	for _, k := range keys {
		switch {
		case !plainKeyID(k.ID):
			return fmt.Errorf("the key ID %s in Blind must be 1 to %d characters of a-z and 0-9", quote(k.ID), maxBlindKeyID)
		case len(k.Secret) < minBlindSecret:
			return fmt.Errorf("the secret of %s in Blind has %d bytes, it must have at least %d", k, len(k.Secret), minBlindSecret)
		case seen[k.ID]:
			return fmt.Errorf("two keys in Blind have the ID %s", k.ID)
		}
		seen[k.ID] = true
	}
	return nil
}

func plainKeyID(id string) bool {
	other := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }
	return id != "" && len(id) <= maxBlindKeyID && !strings.ContainsFunc(id, other)
}

// blind reports whether values are replaced by keyed hashes.
func (p *policy) blind() bool { return len(p.Blind) > 0 }

// hide replaces the name's value and canonical form by keyed hashes.
func (t *target) hide(canonical string) {
	for i, k := range t.policy.Blind {
		sum := keyedHash(k, dibs.KindHash, t.namespace, canonical)
		t.hashes = append(t.hashes, hashKey(t.namespaceInfo, sum))
		if i == 0 {
			t.value, t.canonical = sum, sum
		}
	}
}

// keyedHash returns the keyed hash of a text. Its purpose and the namespace are hashed too, so that
// hashes do not tell that a value is in two namespaces.
func keyedHash(k dibs.BlindKey, purpose dibs.Kind, namespace, text string) string {
	mac := hmac.New(sha256.New, k.Secret)
	mac.Write([]byte(string(purpose) + "\x00" + namespace + "\x00" + text))
	return k.ID + "." + hashEncoding.EncodeToString(mac.Sum(nil))
}

var hashEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
