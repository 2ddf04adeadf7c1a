package pgstore

import (
	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
)

// TxStore returns the store of a registry in a transaction.
func TxStore(s *Store, tx pgx.Tx) dibs.Store { return newTxStore(s, pgxRunner(tx)) }
