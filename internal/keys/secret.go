package keys

import (
	"crypto/rand"
	"crypto/sha256"
	"strings"
)

// A secret is "dibs_", the prefix, "_" and the rest: small letters and digits, so that a
// double click selects all of it and scanners for leaked secrets find it.
const (
	secretStart  = "dibs_"
	prefixLength = 8
	restLength   = 44 // 220 bits
)

// digest is what is kept of a secret.
type digest [sha256.Size]byte

func digestOf(secret string) digest { return sha256.Sum256([]byte(secret)) }

// newSecret makes a secret.
func newSecret() (secret, prefix string) {
	text := strings.ToLower(rand.Text() + rand.Text())
	prefix = text[:prefixLength]
	return secretStart + prefix + "_" + text[prefixLength:prefixLength+restLength], prefix
}

// prefixOf returns the prefix of a secret, if it has the form of one.
func prefixOf(secret string) (prefix string, ok bool) {
	rest, found := strings.CutPrefix(secret, secretStart)
	if !found || len(rest) != prefixLength+len("_")+restLength || rest[prefixLength] != '_' {
		return "", false
	}
	return rest[:prefixLength], isCode(rest[:prefixLength]) && isCode(rest[prefixLength+1:])
}

// isCode reports whether a text is made of what [rand.Text] uses, in small letters.
func isCode(text string) bool {
	for i := range len(text) {
		c := text[i]
		if (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return false
		}
	}
	return true
}
