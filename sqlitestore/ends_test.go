package sqlitestore_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/endtest"
	"github.com/calldibs/dibs/sqlitestore"
	"github.com/calldibs/dibs/storetest"
)

// The transaction of a confirmation is still open after the end of the hold. Meanwhile no read reports
// that the hold has expired.
func TestOpenConfirmation(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock(time.Now())
	reg, db := openSharedAt(t, filepath.Join(t.TempDir(), "shop.db"), "immediate", clock.Now)
	hold, err := reg.Reserve(t.Context(), dibs.Reserve{Namespace: endtest.Namespace, Value: endtest.Value, TTL: dibs.For(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	tx := begin(t, db)
	if _, err := sqlitestore.WithTx(reg, tx).Confirm(t.Context(), dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: product}); err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Hour)
	endtest.Unanswered(t, reg, hold.Token)
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	endtest.Confirmed(t, reg, hold)
}
