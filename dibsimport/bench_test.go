package dibsimport_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsimport"
	"github.com/calldibs/dibs/embedded"
	"github.com/calldibs/dibs/internal/engine"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/sqlitestore"
)

// BenchmarkRun measures the import of a row of a CSV file. make bench ONLY=S11 measures the command
// line.
func BenchmarkRun(b *testing.B) {
	open := func(b *testing.B, address string) (dibs.Store, error) {
		if filepath.IsAbs(address) {
			return sqlitestore.Create(b.Context(), address, sqlitestore.Config{})
		}
		return engine.Open(b.Context(), address)
	}
	for name, newStore := range map[string]func(*testing.B) string{
		"SQLite":     func(b *testing.B) string { return "sqlite:" + filepath.Join(b.TempDir(), "names.db") },
		"NewSQLite":  func(b *testing.B) string { return filepath.Join(b.TempDir(), "names.db") },
		"PostgreSQL": func(b *testing.B) string { return pgtest.Shared(b).NewDatabase(b) },
	} {
		b.Run(name, func(b *testing.B) {
			address := newStore(b)
			store, err := open(b, address)
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
		})
	}
}
