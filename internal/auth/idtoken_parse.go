package auth

import (
	"encoding/base64"
	"errors"
	"slices"
	"strings"

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/exactjson"
)

// maxHeader is the maximum size of a token's header in bytes.
const maxHeader = 2 << 10

var (
	errMalformed = refuse(access.TokenMalformed, "this token is malformed: it must be a signed JWT")
	errAmbiguous = refuse(access.TokenMalformed,
		"this token has a duplicate member, or one that differs from an expected name only in letter case")
	errHeader = refuse(access.TokenMalformed, "the header of this token must have only an algorithm, a key id and plain values: "+
		"keys, references to keys, lists and objects are refused")
)

// peek reads the algorithm and the issuer of a token before its signature is verified. It
// refuses tokens that are unsafe for the libraries, which process all members of a header
// and read "ISS" as "iss".
func peek(token string) (algorithm, issuer string, err error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", "", errMalformed
	}
	if algorithm, err = peekHeader(parts[0]); err != nil {
		return "", "", err
	}
	payload, err := decode(parts[1])
	if err != nil {
		return "", "", err
	}
	claims, err := readClaims(payload, [][]string{{"iss"}}) // the other paths depend on the issuer
	issuer, _ = claims["iss"].(string)
	return algorithm, issuer, err
}

// plainHeaders are the members of a header that must be texts.
var plainHeaders = []string{"alg", "kid", "typ", "cty"}

// refusedHeaders contain a key, refer to one, or change how a token is parsed. Only keys
// that the issuer publishes may verify a token.
var refusedHeaders = []string{"jwk", "jku", "x5u", "x5c", "crit", "b64", "enc", "zip", "epk", "apu", "apv", "iv", "tag", "p2s", "p2c"}

// peekHeader returns the algorithm of a header. Other members are ignored (RFC 7515,
// section 4) if they are plain values.
func peekHeader(part string) (algorithm string, err error) {
	if base64.RawURLEncoding.DecodedLen(len(part)) > maxHeader {
		return "", refuse(access.TokenTooLarge, "the header of this token has more than 2 KiB")
	}
	text, err := decode(part)
	if err != nil {
		return "", err
	}
	header, err := readObject(text)
	if err != nil {
		return "", err
	}
	if exactjson.HasVariant(header, plainHeaders...) {
		return "", errAmbiguous
	}
	for name, value := range header {
		_, isText := value.(string)
		switch value.(type) {
		case map[string]any, []any:
			return "", errHeader
		}
		if slices.Contains(refusedHeaders, strings.ToLower(name)) || slices.Contains(plainHeaders, name) && !isText {
			return "", errHeader
		}
	}
	algorithm, _ = header["alg"].(string)
	return algorithm, nil
}

// decode decodes a part of a token. It refuses line breaks, which package base64 ignores, and
// unused bits at the end, which go-jose ignores: each part has only one encoding.
func decode(part string) ([]byte, error) {
	data, err := base64.RawURLEncoding.Strict().DecodeString(part)
	if err != nil || strings.ContainsAny(part, "\r\n") {
		return nil, errMalformed
	}
	return data, nil
}

// readObject parses an object without duplicate members.
func readObject(text []byte) (map[string]any, error) {
	object, err := exactjson.Object(text)
	switch {
	case errors.Is(err, exactjson.ErrDuplicate):
		return nil, errAmbiguous
	case err != nil:
		return nil, errMalformed
	}
	return object, nil
}
