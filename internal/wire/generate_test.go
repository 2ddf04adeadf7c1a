package wire_test

import (
	"reflect"
	"time"

	"pgregory.net/rapid"

	"github.com/calldibs/dibs"
)

// anything returns a generator of values of type T, with every field that the wire has.
func anything[T any]() *rapid.Generator[T] {
	return rapid.Custom(func(t *rapid.T) T {
		var value T
		fill(t, reflect.ValueOf(&value).Elem(), 0)
		return value
	})
}

// deepest is the maximum depth of values.
const deepest = 4

// fill sets a value. Lists and maps are nil or not empty: on the wire an empty one equals nil.
func fill(t *rapid.T, v reflect.Value, depth int) {
	if special(t, v) {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(rapid.String().Draw(t, "text"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int:
		v.SetInt(rapid.Int64Range(-5, 1_000_000).Draw(t, "int"))
	case reflect.Uint64:
		v.SetUint(rapid.Uint64().Draw(t, "uint"))
	case reflect.Slice:
		for range some(t, depth) {
			element := reflect.New(v.Type().Elem()).Elem()
			fill(t, element, depth+1)
			v.Set(reflect.Append(v, element))
		}
	case reflect.Map:
		for range some(t, depth) {
			key, element := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(t, key, depth+1)
			fill(t, element, depth+1)
			if v.IsNil() {
				v.Set(reflect.MakeMap(v.Type()))
			}
			v.SetMapIndex(key, element)
		}
	case reflect.Pointer:
		if some(t, depth) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem(), depth+1)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				fill(t, field, depth)
			}
		}
	default:
		t.Fatalf("no generator for %s", v.Type())
	}
	bindings(t, v)
}

func some(t *rapid.T, depth int) int {
	if depth >= deepest {
		return 0
	}
	return rapid.IntRange(0, 3).Draw(t, "how many")
}

// special sets values of types with unexported fields or invariants.
func special(t *rapid.T, v reflect.Value) bool {
	milliseconds := func(least int64) int64 { return rapid.Int64Range(least, 4_000_000_000_000).Draw(t, "ms") }
	switch v.Addr().Interface().(type) {
	case *time.Time:
		v.Set(reflect.ValueOf(dibs.Instant(milliseconds(0)).Time()))
	case *dibs.Instant:
		v.SetInt(milliseconds(0))
	case *time.Duration:
		v.SetInt(milliseconds(0) * int64(time.Millisecond))
	case *dibs.TTL:
		if rapid.Bool().Draw(t, "ttl") {
			v.Set(reflect.ValueOf(dibs.For(time.Duration(milliseconds(-1)) * time.Millisecond)))
		}
	case *dibs.Verdict:
		verdict := dibs.Absent
		if rapid.Bool().Draw(t, "exists") {
			verdict = dibs.Exists(dibs.Entity{Type: "user", ID: rapid.String().Draw(t, "id")})
		}
		v.Set(reflect.ValueOf(verdict))
	case *dibs.ID:
		v.Set(reflect.ValueOf(dibs.NameID("slug", rapid.String().Draw(t, "name"))))
	default:
		return false
	}
	return true
}

// bindings makes dependent fields consistent.
func bindings(t *rapid.T, v reflect.Value) {
	switch x := v.Addr().Interface().(type) {
	case *dibs.Name:
		x.State = rapid.SampledFrom([]dibs.State{dibs.Held, dibs.Active, dibs.Free}).Draw(t, "state")
		if x.State != dibs.Held {
			x.Remaining = 0
		}
	case *dibs.Event:
		if rapid.Bool().Draw(t, "about an entity") {
			x.ID = dibs.ID{}
		}
	case *dibs.EventPage:
		x.Generation = 0 // it is not on the wire
	case *dibs.Error:
		x.Code = rapid.SampledFrom([]dibs.Code{dibs.CodeNameTaken, dibs.CodeInvalidValue, dibs.CodeUnavailable}).Draw(t, "code")
	case *dibs.Failure:
		if x.Err == nil {
			x.Err = &dibs.Error{Code: dibs.CodeLost}
		}
	case *dibs.Recanonicalization:
		if x.Counts == nil {
			x.Counts = map[dibs.FindingKind]int{}
		}
	}
}
