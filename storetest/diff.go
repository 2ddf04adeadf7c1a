package storetest

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/calldibs/dibs"
)

// diff lists the fields in which two structs differ. It treats an empty map or
// slice as nil: engines need not distinguish them.
func diff(got, want any) string {
	if reflect.DeepEqual(got, want) {
		return "" // the common case
	}
	g, w := reflect.Indirect(reflect.ValueOf(got)), reflect.Indirect(reflect.ValueOf(want))
	if g.Type() != w.Type() {
		return fmt.Sprintf("it is a %s, not a %s", g.Type(), w.Type())
	}
	var differences []string
	for i := range g.NumField() {
		if !same(g.Field(i), w.Field(i)) {
			differences = append(differences, fmt.Sprintf("%s is %s, it must be %s",
				g.Type().Field(i).Name, show(g.Field(i)), show(w.Field(i))))
		}
	}
	return strings.Join(differences, "; ")
}

func same(a, b reflect.Value) bool {
	if (a.Kind() == reflect.Map || a.Kind() == reflect.Slice) && a.Len() == 0 && b.Len() == 0 {
		return true
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

// show formats a value so that invisible differences can be seen, and truncates a
// long one.
func show(v reflect.Value) string {
	const most = 120
	text := fmt.Sprintf("%+q", v.Interface())
	if v.Kind() != reflect.String {
		text = fmt.Sprintf("%#v", v.Interface())
	}
	if len(text) > most {
		text = text[:most] + "…"
	}
	return text
}

// describe names a record in a message.
func describe(record dibs.Record) string {
	switch r := record.(type) {
	case *dibs.NameRecord:
		return "the name " + show(reflect.ValueOf(r.Key()))
	case *dibs.EntityRecord:
		return fmt.Sprintf("the entity %s in scope %q", show(reflect.ValueOf(r.Entity.String())), r.Scope)
	case *dibs.Document:
		return fmt.Sprintf("the document %s of kind %q", show(reflect.ValueOf(r.Label)), r.Kind)
	}
	return fmt.Sprintf("a %T", record)
}
