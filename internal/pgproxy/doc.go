// Package pgproxy is a proxy for tests between a PostgreSQL client and a real server. It
// speaks their protocol, and injects the faults that a network, a failover or a busy
// server would cause.
//
// The unit is the exchange: the client's messages up to a Sync or a simple Query, and the
// server's answer up to its ReadyForQuery. That is one round trip. A hook gets each
// exchange before the server does, and returns what happens to it:
//
//	p := pgproxy.Start(t, "unix", "/path/.s.PGSQL.5432")
//	p.SetHook(pgproxy.Once((*pgproxy.Exchange).Commits, pgproxy.CutAfter()))
//	conn, err := pgx.Connect(ctx, p.DSN(dsn))
//
// An injected error is also an error for the server: the statement has no effect, and the
// transaction is in the state in which a real error of that kind would leave it.
package pgproxy
