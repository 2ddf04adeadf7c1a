// Package pgproxy is a proxy for tests: it stands between a PostgreSQL client and a real
// server, speaks their protocol, and injects the faults that a network, a failover or a
// busy server would cause.
//
// The unit is the exchange: what a client sends up to a Sync or a simple Query, and the
// server's answer up to its ReadyForQuery. That is one round trip. A hook is shown each
// exchange before the server sees any of it, and returns what to do with it:
//
//	p := pgproxy.Start(t, "unix", "/path/.s.PGSQL.5432")
//	p.SetHook(pgproxy.Once((*pgproxy.Exchange).Commits, pgproxy.CutAfter()))
//	conn, err := pgx.Connect(ctx, p.DSN(dsn))
//
// An injected error is one for the server too: the statement had no effect and the
// transaction is in the state in which a real error of that kind would leave it.
package pgproxy
