package dibsimport_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsimport"
	"github.com/calldibs/dibs/embedded"
	"github.com/calldibs/dibs/sqlitestore"
)

// BenchmarkRun measures the import of a row of a CSV file into SQLite.
func BenchmarkRun(b *testing.B) {
	store, err := sqlitestore.Open(b.Context(), filepath.Join(b.TempDir(), "names.db"), sqlitestore.Config{})
	if err != nil {
		b.Fatal(err)
	}
	registry, err := embedded.Open(store, dibs.Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = registry.Close() }()
	var rows strings.Builder
	rows.WriteString("id,username,created_at\n")
	for i := range b.N {
		fmt.Fprintf(&rows, "%d,%s,2021-03-01T10:00:00Z\n", i, dibs.NameID("username", fmt.Sprint(i)).String()[4:])
	}
	b.ReportAllocs()
	b.ResetTimer()
	report, err := dibsimport.Run(b.Context(), registry, dibsimport.CSV(strings.NewReader(rows.String())), dibsimport.Options{
		Mapping: dibsimport.Mapping{Namespace: "username", EntityType: "user"},
	})
	if err != nil || report.Imported != b.N {
		b.Fatal(report, err)
	}
}
