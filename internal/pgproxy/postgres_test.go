package pgproxy_test

import (
	"testing"

	"github.com/calldibs/dibs/internal/pgtest"
)

// startPostgres returns the address of a server, and a connection string for a separate
// schema.
func startPostgres(tb testing.TB) (network, addr, dsn string) {
	tb.Helper()
	cluster := pgtest.Shared(tb)
	schema := cluster.NewSchema(tb)
	if _, err := pgtest.Connect(tb, cluster.DSN("postgres")).Exec(tb.Context(), "CREATE SCHEMA "+schema); err != nil {
		tb.Fatal(err)
	}
	network, addr = cluster.SocketAddr()
	return network, addr, cluster.DSN("postgres") + "&search_path=" + schema
}
