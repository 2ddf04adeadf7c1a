package pgstore

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/calldibs/dibs"
)

// waitsForStandby asks whether commits wait for a synchronous standby: one is configured,
// and either a session of this role waits, or no standby is connected. A role that may not
// see the state of standbys counts every connected one as synchronous.
const waitsForStandby = `SELECT current_setting('synchronous_standby_names') <> '' AND (
	EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND usename = current_user)
	OR NOT EXISTS (SELECT FROM pg_stat_replication WHERE coalesce(sync_state, 'sync') IN ('sync', 'quorum')))`

// diagnoseTimeout is how long the database may take to answer waitsForStandby.
const diagnoseTimeout = time.Second

// Diagnose returns why a commit is not answered: it may wait for a synchronous standby.
// Empty means that the database does not answer, or shows no reason.
func (s *Store) Diagnose(ctx context.Context) dibs.Cause {
	if err := s.calls.Begin(ctx); err != nil {
		return ""
	}
	defer s.calls.End()
	return s.standbyCause(ctx, "")
}

// standbyCause returns [dibs.CauseStandby] if commits wait for a standby, and otherwise if not.
func (s *Store) standbyCause(ctx context.Context, otherwise dibs.Cause) dibs.Cause {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), diagnoseTimeout)
	defer cancel()
	var waits bool
	err := s.use(ctx, func(conn *pgx.Conn) error { return conn.QueryRow(ctx, waitsForStandby).Scan(&waits) })
	if err == nil && waits {
		return dibs.CauseStandby
	}
	return otherwise
}

// errNotReplicated is the error of a commit whose wait for a synchronous standby was
// cancelled, by an operator or by a timeout of the server. The server reports success with a
// warning, although the standby may never get the commit.
var errNotReplicated = errors.New("pgstore: the server has stopped waiting for its standby, and warns that a commit may not be replicated")

// warned marks a connection on which the server has sent a warning.
const warned = "dibs: warned"

// noteWarnings marks connections on which the server warns. The warning has no code of its
// own, and its text is in the server's language. So every warning without a code counts: the
// statements of this package cause no other.
func noteWarnings(cfg *pgx.ConnConfig) {
	next := cfg.OnNotice
	cfg.OnNotice = func(conn *pgconn.PgConn, notice *pgconn.Notice) {
		if notice.SeverityUnlocalized == "WARNING" && notice.Code == pgerrcode.Warning {
			conn.CustomData()[warned] = true
		}
		if next != nil {
			next(conn, notice)
		}
	}
}

// takeWarning returns errNotReplicated if the server has warned since the last call.
func takeWarning(conn *pgx.Conn) error {
	marks := conn.PgConn().CustomData()
	if marks[warned] == nil {
		return nil
	}
	delete(marks, warned)
	return errNotReplicated
}
