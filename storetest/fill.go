package storetest

import (
	"fmt"
	"reflect"
	"time"

	"github.com/calldibs/dibs"
)

// fill sets every exported field of a struct to a non-zero value that no other
// field has. So a case notices a field that is lost, truncated or mixed up with
// another, also one that is added later.
func fill[T any](record *T) *T {
	seed := 0
	fillValue(reflect.ValueOf(record).Elem(), &seed)
	return record
}

func fillValue(v reflect.Value, seed *int) {
	*seed++
	switch v.Type() {
	case reflect.TypeFor[time.Duration]():
		v.SetInt(int64(time.Duration(*seed) * time.Millisecond))
		return
	case reflect.TypeFor[dibs.Instant]():
		v.SetInt(epoch.UnixMilli() + int64(*seed))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf(" No. %d é e\u0301 '\"%%_\\ 😀 ", *seed))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(*seed))
	case reflect.Uint8, reflect.Uint, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(*seed))
	case reflect.Array:
		for i := range v.Len() {
			fillValue(v.Index(i), seed)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fillValue(v.Index(i), seed)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fillValue(key, seed)
			fillValue(value, seed)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fillValue(v.Field(i), seed)
			}
		}
	default:
		panic(fmt.Sprintf("storetest: fill does not support %s", v.Type()))
	}
}
