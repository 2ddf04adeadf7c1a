package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
)

// TxStore returns the store of a registry in a transaction.
func TxStore(s *Store, tx pgx.Tx) dibs.Store { return newTxStore(s, pgxRunner(tx)) }

// StatementTexts returns the statements of statements.sql by their names.
func StatementTexts(s *Store) map[string]string { return s.sql.texts }

// Purge removes batches without events, as the feed does from time to time.
func Purge(s *Store) { s.feed.purge(context.Background()) }
