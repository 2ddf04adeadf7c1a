package pgstore

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"
)

// uuid is an ID as PostgreSQL stores it: 16 bytes that compare and hash fast. pgx reads and
// writes it natively, database/sql uses Scan.
type uuid [16]byte

var (
	_ pgtype.UUIDScanner = (*uuid)(nil)
	_ pgtype.UUIDValuer  = uuid{}
)

// ScanUUID implements [pgtype.UUIDScanner].
func (u *uuid) ScanUUID(v pgtype.UUID) error {
	*u = v.Bytes
	return nil
}

// UUIDValue implements [pgtype.UUIDValuer].
func (u uuid) UUIDValue() (pgtype.UUID, error) {
	return pgtype.UUID{Bytes: u, Valid: true}, nil
}

// Scan implements [sql.Scanner].
func (u *uuid) Scan(src any) error {
	var v pgtype.UUID
	if err := v.Scan(src); err != nil {
		return fmt.Errorf("not a uuid: %w", err)
	}
	*u = v.Bytes
	return nil
}
