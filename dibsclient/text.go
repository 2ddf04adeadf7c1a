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

// encode writes a body; nothing for none. JSON would quietly replace what is not valid
// UTF-8, and so ask for another name than the caller did.
func encode(body any) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	if member, code := brokenText(reflect.ValueOf(body)); code != "" {
		return nil, &dibs.Error{Code: code, Message: fmt.Sprintf("the %s is not valid UTF-8", member)}
	}
	return json.Marshal(body)
}

// brokenText finds text that is not valid UTF-8: which member it is, and the code of the
// error that the registry would refuse it with. No code means that all is well.
func brokenText(v reflect.Value) (member string, code dibs.Code) {
	switch v.Kind() {
	case reflect.String:
		if !utf8.ValidString(v.String()) {
			return "", dibs.CodeInvalidValue
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return brokenText(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			if member, code = brokenText(v.Index(i)); code != "" {
				return member, code
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			for _, text := range []reflect.Value{key, v.MapIndex(key)} {
				if member, code = brokenText(text); code != "" {
					return member, code
				}
			}
		}
	case reflect.Struct:
		return brokenMember(v)
	default: // no text
	}
	return "", ""
}

func brokenMember(v reflect.Value) (member string, code dibs.Code) {
	for i := range v.NumField() {
		if member, code = brokenText(v.Field(i)); code == "" {
			continue
		}
		if member != "" {
			return member, code // further inside
		}
		member, _, _ = strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		switch {
		case v.Type() == reflect.TypeFor[wire.Entity]():
			return "entity's " + member, dibs.CodeInvalidEntity
		case member == "namespace":
			return member, dibs.CodeInvalidNamespace
		case member == "scope":
			return member, dibs.CodeInvalidNamespace
		case member == "token":
			return member, dibs.CodeInvalidToken
		default:
			return member, code
		}
	}
	return "", ""
}
