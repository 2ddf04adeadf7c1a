package pgstore

import (
	"errors"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// errNotWaited is what a commit ends with whose wait for a synchronous standby was cancelled:
// by an operator, or by a timeout of the server's. The server answers it by a success with a
// warning, although the standby may never get it.
var errNotWaited = errors.New("pgstore: the server no longer waits for its standby, and warns that a commit may not be there")

// warned marks a connection on which the server has warned of something.
const warned = "dibs: warned"

// noteWarnings marks connections on which the server warns. The warning has no code of its
// own, and words in the server's language, so every warning without a code counts: none of
// our statements causes another.
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

// notWaited returns errNotWaited if the server has warned since it was last asked.
func notWaited(conn *pgx.Conn) error {
	marks := conn.PgConn().CustomData()
	if marks[warned] == nil {
		return nil
	}
	delete(marks, warned)
	return errNotWaited
}
