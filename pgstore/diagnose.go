package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
)

// waitsForStandby asks whether commits wait for a synchronous standby: one is wanted, and
// either a session of ours is seen waiting, or there is none. A role without the right to
// see the state of standbys takes those that are connected for good ones.
const waitsForStandby = `SELECT current_setting('synchronous_standby_names') <> '' AND (
	EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND usename = current_user)
	OR NOT EXISTS (SELECT FROM pg_stat_replication WHERE coalesce(sync_state, 'sync') IN ('sync', 'quorum')))`

// diagnoseTime is how long the database may take to say why it does not commit.
const diagnoseTime = time.Second

// Diagnose says why a commit is not answered, as far as the database can still be asked:
// it may wait for a synchronous standby. Empty means that there is no reason to be seen.
func (s *Store) Diagnose(ctx context.Context) dibs.Cause {
	if err := s.calls.Begin(ctx); err != nil {
		return ""
	}
	defer s.calls.End()
	return s.diagnosed(ctx, "")
}

// diagnosed returns why a commit is not answered, or the cause that is assumed otherwise.
func (s *Store) diagnosed(ctx context.Context, otherwise dibs.Cause) dibs.Cause {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), diagnoseTime)
	defer cancel()
	var waits bool
	err := s.use(ctx, func(conn *pgx.Conn) error { return conn.QueryRow(ctx, waitsForStandby).Scan(&waits) })
	if err == nil && waits {
		return dibs.CauseStandby
	}
	return otherwise
}
