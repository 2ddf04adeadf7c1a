package idtoken

import (
	"encoding/base64"
	"errors"
	"slices"
	"strings"

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/exactjson"
)

// maxHeader is how many bytes the header of a token may have.
const maxHeader = 2 << 10

var (
	errMalformed = refuse(access.TokenMalformed, "this token cannot be read: it must be a signed JWT")
	errAmbiguous = refuse(access.TokenMalformed, "this token has a member twice, or one of another spelling than it must have")
	errHeader    = refuse(access.TokenMalformed, "this token's header has more than an algorithm, the name of a key and plain values: keys, references to keys, lists and objects are not taken")
)

// said is what a token says of itself, before its signature is checked.
type said struct{ algorithm, issuer string }

// peek reads which issuer a token wants to be checked by. It refuses what the libraries
// must not see: they work on all that is in a header, and take "ISS" for "iss".
func peek(token string) (said, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return said{}, errMalformed
	}
	algorithm, err := peekHeader(parts[0])
	if err != nil {
		return said{}, err
	}
	payload, err := decode(parts[1])
	if err != nil {
		return said{}, err
	}
	claims, err := readClaims(payload, [][]string{{"iss"}}) // all others when it is known who the issuer is
	if err != nil {
		return said{}, err
	}
	issuer, _ := claims["iss"].(string)
	return said{algorithm, issuer}, nil
}

// plainHeaders are the members of a header that may have a meaning here. All are texts.
var plainHeaders = []string{"alg", "kid", "typ", "cty"}

// refusedHeaders bring a key, say where one is, or change how a token is to be read. The
// only keys that count are those that the issuer publishes, and there is one way to read.
var refusedHeaders = []string{"jwk", "jku", "x5u", "x5c", "crit", "b64", "enc", "zip", "epk", "apu", "apv", "iv", "tag", "p2s", "p2c"}

// peekHeader returns the algorithm of a header. Members of an issuer's own do not matter
// (RFC 7515, section 4), as long as they are no more than a value.
func peekHeader(part string) (algorithm string, err error) {
	if base64.RawURLEncoding.DecodedLen(len(part)) > maxHeader {
		return "", refuse(access.TokenTooLarge, "this token's header has more than 2 KiB")
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

// decode reads a part of a token. There is one way to write each: package base64 would
// skip line breaks, and go-jose what is in bits that are not used.
func decode(part string) ([]byte, error) {
	data, err := base64.RawURLEncoding.Strict().DecodeString(part)
	if err != nil || strings.ContainsAny(part, "\r\n") {
		return nil, errMalformed
	}
	return data, nil
}

// readObject reads an object that has no member twice.
func readObject(text []byte) (map[string]any, error) {
	object, err := exactjson.Object(text)
	switch {
	case errors.Is(err, exactjson.ErrTwice):
		return nil, errAmbiguous
	case err != nil:
		return nil, errMalformed
	}
	return object, nil
}
