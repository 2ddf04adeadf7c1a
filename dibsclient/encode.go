package dibsclient

import (
	"encoding/json"
	"fmt"
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
	if member, code := invalidUTF8(reflect.ValueOf(body)); code != "" {
		return nil, &dibs.Error{Code: code, Message: fmt.Sprintf("the %s is not valid UTF-8", member)}
	}
	return json.Marshal(body)
}

// invalidUTF8 finds the first text that is not valid UTF-8. It returns the member, and the
// code with which the registry would refuse it, or no code if there is none.
func invalidUTF8(v reflect.Value) (member string, code dibs.Code) {
	switch v.Kind() {
	case reflect.String:
		if !utf8.ValidString(v.String()) {
			return "", dibs.CodeInvalidValue
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return invalidUTF8(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			if member, code = invalidUTF8(v.Index(i)); code != "" {
				return member, code
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			for _, text := range []reflect.Value{key, v.MapIndex(key)} {
				if member, code = invalidUTF8(text); code != "" {
					return member, code
				}
			}
		}
	case reflect.Struct:
		return invalidMember(v)
	default: // not a text
	}
	return "", ""
}

func invalidMember(v reflect.Value) (member string, code dibs.Code) {
	for i := range v.NumField() {
		if member, code = invalidUTF8(v.Field(i)); code == "" {
			continue
		}
		if member != "" {
			return member, code // a nested one
		}
		member, _, _ = strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		switch {
		case v.Type() == reflect.TypeFor[wire.Entity]():
			return "entity's " + member, dibs.CodeInvalidEntity
		case member == "namespace", member == "scope":
			return member, dibs.CodeInvalidNamespace
		case member == "token":
			return member, dibs.CodeInvalidToken
		default:
			return member, code
		}
	}
	return "", ""
}
