//go:build unix

package pgtest

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs/internal/harness"
)

// Configure changes a setting of the server for all sessions, and returns once it is in
// force. An empty value resets it.
func (c *Cluster) Configure(tb harness.TB, setting, value string) {
	tb.Helper()
	name := pgx.Identifier{setting}.Sanitize()
	change, inForce := fmt.Sprintf("ALTER SYSTEM SET %s = '%s'", name, value), "setting = $2"
	if value == "" {
		change, inForce = "ALTER SYSTEM RESET "+name, "source <> 'configuration file' AND $2 = ''"
	}
	for _, statement := range []string{change, "SELECT pg_reload_conf()"} {
		if err := c.exec(statement); err != nil {
			tb.Fatalf("%v; the end of the log:\n%s", err, c.home.logTail())
		}
	}
	// The server notifies its processes before it starts a new one with the setting.
	err := await("the setting is in force", func() (bool, error) {
		return c.isTrue("SELECT "+inForce+" FROM pg_settings WHERE name = $1", setting, value)
	})
	if err != nil {
		tb.Fatalf("%v; the end of the log:\n%s", err, c.home.logTail())
	}
}

// WithoutStandby makes commits wait for a missing standby while do runs.
func (c *Cluster) WithoutStandby(tb harness.TB, do func()) {
	tb.Helper()
	const setting = "synchronous_standby_names"
	c.Configure(tb, setting, "nowhere")
	defer c.Configure(tb, setting, "")
	// Commits wait once the checkpointer has read the setting, which it does before a checkpoint.
	if err := c.exec("CHECKPOINT"); err != nil {
		tb.Fatal(err)
	}
	do()
}

// Waiting returns how many commits wait for a standby.
func (c *Cluster) Waiting(tb harness.TB) (commits int) {
	tb.Helper()
	err := c.connected(func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'").Scan(&commits)
	})
	if err != nil {
		tb.Fatal(err)
	}
	return commits
}
