package pgstore

import (
	"errors"
	"reflect"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/sqlrow"
)

func FuzzCursor(f *testing.F) {
	for _, text := range []string{"", "12-0", "1-2147483647", "01-1", "1-", "-1-1", "9223372036854775807-0", "1-1-1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parseCursor(dibs.Cursor(text))
		switch {
		case errors.Is(err, dibs.ErrBadCursor):
		case err != nil:
			t.Errorf("%q: %v", text, err)
		case text != "" && p.cursor() != dibs.Cursor(text):
			t.Errorf("%q is %v, which is %q", text, p, p.cursor())
		}
	})
}

// A damaged detail is an error, and what was read is written and read the same.
func FuzzDetail(f *testing.F) {
	f.Add("")
	f.Add("a\\tb\tt\t00000000000000000000000000000000\t1\t2\t3")
	f.Add("\\\\\\n\t\t\t-9223372036854775808\tff")
	f.Fuzz(func(t *testing.T, detail string) {
		read := sqlrow.Names.New()
		if decodeDetail(detail, read) != nil {
			return
		}
		again := sqlrow.Names.New()
		if err := decodeDetail(encodeDetail(read), again); err != nil || !reflect.DeepEqual(read, again) {
			t.Errorf("%q is read as %+v, and then as %+v, %v", detail, read, again, err)
		}
	})
}

// A damaged event is an error, and what was read is written and read the same.
func FuzzEvent(f *testing.F) {
	f.Add("\treserved\t1700000000000\t1\t00112233445566778899aabbccddeeff\tslug\t{}")
	f.Add("x/1\tconfirmed\t1\t2\t00112233445566778899aabbccddeeff\tacme.slug\t{\"c\":\"alice\",\"m\":{\"k\":\"v\"}}")
	f.Add("\t\t\t\t\t\t")
	f.Fuzz(func(t *testing.T, line string) {
		first := eventRow{seq: 1, line: line}
		event, err := first.event()
		if err != nil {
			return
		}
		row, err := newEventRow(&event, 0)
		if err != nil {
			t.Fatal(err)
		}
		row.line, row.seq = "\t"+row.line, 1 // the link to the event before
		if again, err := row.event(); err != nil || !reflect.DeepEqual(again, event) {
			t.Errorf("%q is read as %+v, and then as %+v, %v", line, event, again, err)
		}
	})
}
