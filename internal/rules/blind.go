package rules

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"slices"

	"github.com/calldibs/dibs"
)

const (
	minBlindSecret = 32
	maxBlindKeys   = 4
	maxBlindKeyID  = 16
)

var hashEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// keyedHash returns the keyed hash of a text. What it is for and the namespace are hashed
// with it: nobody can tell that a value is in two namespaces.
func keyedHash(k dibs.BlindKey, purpose dibs.Kind, namespace, text string) string {
	mac := hmac.New(sha256.New, k.Secret)
	mac.Write([]byte(string(purpose) + "\x00" + namespace + "\x00" + text))
	return k.ID + "." + hashEncoding.EncodeToString(mac.Sum(nil))
}

// checkBlind checks the keys of a policy.
func checkBlind(keys []dibs.BlindKey) error {
	if len(keys) > maxBlindKeys {
		return fmt.Errorf("Blind has %d keys, more than the %d allowed", len(keys), maxBlindKeys)
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
	for _, r := range id {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			return false
		}
	}
	return id != "" && len(id) <= maxBlindKeyID
}

// blind reports whether values are replaced by keyed hashes.
func (p *policy) blind() bool { return len(p.Blind) > 0 }

func (p *preparer) rekey(c dibs.Rekey) (decision, *dibs.Error) {
	t, canonical, err := p.locate(c.Namespace, c.Value, "")
	if err == nil {
		err = t.setSkeletons(canonical)
	}
	if err != nil {
		return nil, err
	}
	if !t.policy.blind() {
		return nil, t.refuse(dibs.CodeInvalidNamespace, "%s has no keys: Rekey works in blind namespaces only", t.namespace)
	}
	for _, key := range slices.Concat(t.hashes, t.skeletons) {
		p.want(key.Ref)
	}
	p.want(namespaceRecordRef(t.namespaceInfo))
	return func(v *view) (dibs.Result, *dibs.Error) {
		if v.hasNoRow(t) {
			return dibs.Result{}, t.refuse(dibs.CodeNotFound, "%s is free", t.key())
		}
		n := v.name(t)
		if v.isIndexed(n, t) {
			return v.result(n, true), nil
		}
		record, err := v.recordForNewName(t)
		if err != nil {
			return dibs.Result{}, err
		}
		v.addToIndex(n, t, record)
		v.saveQuietly(n)
		return v.result(n, false), nil
	}, nil
}

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
