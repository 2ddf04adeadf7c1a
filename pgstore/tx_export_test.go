package pgstore

import (
	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
)

// TxStore is the store that a registry of [WithTx] works on.
func TxStore(s *Store, tx pgx.Tx) dibs.Store { return &txStore{s, pgxRunner{tx}} }
