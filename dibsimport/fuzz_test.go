package dibsimport_test

import (
	"bytes"
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsimport"
	"github.com/calldibs/dibs/embedded"
	"github.com/calldibs/dibs/memstore"
)

// Whatever a file contains, an import counts every row that it read, and a second run of the same
// file changes nothing.
func FuzzSources(f *testing.F) {
	f.Add(byte(0), []byte("namespace,value,entity_type,entity_id,since\nslug,alice,user,1,2026-03-01\nslug,alice,user,2,\n"))
	f.Add(byte(0), []byte("\xef\xbb\xbfnamespace,value,entity_type,entity_id,alias_of,archived\r\nslug,\"a\"\"b\",user,1,,t\r\nslug,old,user,1,alice,0\r\n"))
	f.Add(byte(1), []byte("namespace\tvalue\towner_type\tid\nslug\tbob\tuser\t7\n"))
	f.Add(byte(2), []byte(`{"namespace":"slug","value":"carol","entity_type":"user","entity_id":12,"created_at":1700000000}`+"\n\n"+`{"value":null}`))
	f.Add(byte(2), []byte(`{"namespace":"acme.slug","name":"x","entity_type":"user","entity_id":"1","archived":true,"alias_of":"y"}`))
	f.Fuzz(func(t *testing.T, format byte, data []byte) {
		open := func() dibsimport.Source {
			switch in := bytes.NewReader(data); format % 3 {
			case 0:
				return dibsimport.CSV(in)
			case 1:
				return dibsimport.TSV(in)
			default:
				return dibsimport.JSONLines(in)
			}
		}
		registry, err := embedded.Open(memstore.New(memstore.Config{}), dibs.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer registry.Close()
		first, err := dibsimport.Run(t.Context(), registry, open(), dibsimport.Options{})
		if err != nil {
			if !utf8.ValidString(err.Error()) || errors.Is(err, dibs.ErrOutcomeUnknown) {
				t.Fatalf("the error is %q", err)
			}
			return
		}
		if sum := first.Imported + first.Unchanged + first.Lost; sum != first.Rows {
			t.Errorf("of %d rows %d are accounted for: %+v", first.Rows, sum, first)
		}
		again, err := dibsimport.Run(t.Context(), registry, open(), dibsimport.Options{})
		if err != nil || again.Imported != 0 || again.Archived != 0 || again.Rows != first.Rows {
			t.Errorf("the second run: %+v, %v; the first: %+v", again, err, first)
		}
	})
}
