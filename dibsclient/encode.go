package dibsclient

import (
	"cmp"
	"encoding/json"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

// encode returns a body as JSON, nil for none. It refuses invalid UTF-8: package json would
// silently replace it, and so send another name.
func encode(body any) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	if err := checkUTF8(reflect.ValueOf(body), "body", dibs.CodeInvalidValue); err != nil {
		return nil, err
	}
	return json.Marshal(body)
}

// memberCodes are the codes with which the registry refuses invalid members. Other members
// have INVALID_VALUE.
var memberCodes = map[string]dibs.Code{
	"namespace": dibs.CodeInvalidNamespace, "scope": dibs.CodeInvalidNamespace, "token": dibs.CodeInvalidToken,
}

// checkUTF8 returns an error for the first text in a member of a body that is not valid
// UTF-8.
func checkUTF8(v reflect.Value, member string, code dibs.Code) error {
	switch v.Kind() {
	case reflect.String:
		if !utf8.ValidString(v.String()) {
			return &dibs.Error{Code: code, Message: "the " + member + " is not valid UTF-8"}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return checkUTF8(v.Elem(), member, code)
		}
	case reflect.Slice:
		for i := range v.Len() {
			if err := checkUTF8(v.Index(i), member, code); err != nil {
				return err
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if err := cmp.Or(checkUTF8(key, member, code), checkUTF8(v.MapIndex(key), member, code)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			member, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			code := cmp.Or(memberCodes[member], dibs.CodeInvalidValue)
			if v.Type() == reflect.TypeFor[wire.Entity]() {
				member, code = "entity's "+member, dibs.CodeInvalidEntity
			}
			if err := checkUTF8(v.Field(i), member, code); err != nil {
				return err
			}
		}
	default: // not a text
	}
	return nil
}
