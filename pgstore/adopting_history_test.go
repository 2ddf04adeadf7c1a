package pgstore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
)

func TestMoveFromASlugColumnWithAHistoryTable(t *testing.T) {
	t.Parallel()
	m := beginMove(t, "c")
	m.exec(`INSERT INTO products SELECT i, 'Kit', 'kit-' || i || '-3', CASE WHEN i > 90 THEN now() END FROM generate_series(1, 105) i;
		INSERT INTO product_slugs SELECT 'kit-' || i || '-' || j, i, j = 3, now() - interval '9 days' + j * interval '1 day'
			FROM generate_series(1, 105) i, generate_series(1, 3) j;
		INSERT INTO products VALUES (901, 'A', 'Lamp'), (902, 'B', 'lamp');
		INSERT INTO product_slugs VALUES ('Lamp', 901, true), ('lamp', 902, true)`)
	m.write(func(ctx context.Context, i int64, both bool) error {
		id := i%90 + 1
		return m.inTx(ctx, func(tx pgx.Tx) error {
			slug := fmt.Sprint("renamed-", i)
			for _, statement := range []string{
				"UPDATE products SET current_slug = $2 WHERE id = $1", // locks the product
				"UPDATE product_slugs SET is_active = false WHERE product_id = $1 AND slug <> $2",
				"INSERT INTO product_slugs (product_id, slug, is_active) VALUES ($1, $2, true)",
			} {
				if _, err := tx.Exec(ctx, statement, id, slug); err != nil {
					return err
				}
			}
			if !both {
				return nil
			}
			return copyProduct(ctx, m.reg, tx, id, false)
		})
	})
	m.meanwhile()
	m.install()
	m.deploy()
	type productRow struct {
		ID      int64
		Deleted bool
	}
	copying := batchOf(m, "c/batch", func(ctx context.Context, tx pgx.Tx, p productRow) (int64, string, dibs.Entity, error) {
		return p.ID, fmt.Sprint(p.ID), dibs.Entity{Type: "product", ID: fmt.Sprint(p.ID)}, copyProduct(ctx, m.reg, tx, p.ID, p.Deleted)
	})
	backfillOf(m, 0, copying)
	m.conflicts(1)
	m.verify("c/verify", 1)
	m.exec(`UPDATE products SET current_slug = 'lamp-2' WHERE id = 902; UPDATE product_slugs SET slug = 'lamp-2' WHERE product_id = 902`)
	backfillOf(m, 0, copying)
	m.verify("c/verify", 0)
	m.verify("c/torn", 0)
	m.end()
	before := m.events()
	backfillOf(m, 0, copying)
	if after := m.events(); after != before {
		t.Errorf("a second backfill added %d events", after-before)
	}
	for slug, status := range map[string]int{"lamp": 200, "lamp-2": 200, "kit-1-1": 301, "kit-1-2": 301, "kit-105-3": 404} {
		m.resolves("slug", slug, status)
	}
	m.run("c/drop")
	m.resolves("slug", "kit-2-2", 301)
}
