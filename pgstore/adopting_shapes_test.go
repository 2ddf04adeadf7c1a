package pgstore_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/pgstore"
)

// What is here is shown in docs/dual-writing.md, line by line.

// lowerCase is a profile for slugs that differ by case only.
type lowerCase struct{}

func (lowerCase) Name() string                           { return "lower/1" }
func (lowerCase) Canonical(value string) (string, error) { return strings.ToLower(value), nil }

var secret = []byte("from the application's configuration")

// tokenOf is a token that everybody who has the secret can work out again from the row.
func tokenOf(row ...any) string {
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintln(mac, row...)
	return hex.EncodeToString(mac.Sum(nil))
}

// takeName gives a name to its owner: by the hold that the row had, or at once.
func takeName(ctx context.Context, reg *dibs.Registry, namespace, slug, token string, owner dibs.Entity) error {
	id := dibs.NameID(namespace, strings.ToLower(slug))
	_, err := reg.Confirm(ctx, dibs.Confirm{ID: id, Token: token, Entity: owner})
	if err == nil || errors.Is(err, dibs.ErrUnavailable) {
		return err
	}
	_, err = reg.Claim(ctx, dibs.Claim{Namespace: namespace, Value: slug, Entity: owner})
	return err
}

// tenantSlug is a row of tenant_slug_registry.
type tenantSlug struct {
	Slug, Tenant string
	ReservedAt   time.Time
	Confirmed    bool
	Left         time.Duration // until the clean-up job would remove it
}

// copyTenant makes the registry say what the row says. tx has changed or locked it.
func copyTenant(ctx context.Context, reg *dibs.Registry, tx pgx.Tx, row tenantSlug) error {
	bound, tenant := pgstore.WithTx(reg, tx), dibs.Entity{Type: "tenant", ID: row.Tenant}
	token := tokenOf(row.Slug, row.Tenant, row.ReservedAt.UnixMicro())
	switch {
	case row.Confirmed:
		return takeName(ctx, bound, "tenant", row.Slug, token, tenant)
	case row.Left < time.Second:
		return nil // it is as good as free
	}
	_, err := bound.Reserve(ctx, dibs.Reserve{Namespace: "tenant", Value: row.Slug, Token: token, TTL: dibs.For(row.Left)})
	return err
}

// copySignup holds the slug of a signup that is under way.
func copySignup(ctx context.Context, reg *dibs.Registry, tx pgx.Tx, signup int64, slug string, left time.Duration) error {
	_, err := pgstore.WithTx(reg, tx).Reserve(ctx, dibs.Reserve{
		Namespace: "slug", Value: slug, Token: tokenOf("signup", signup), TTL: dibs.For(max(left, time.Second)),
	})
	return err
}

// copyWedding gives the slug to the wedding, if need be by its signup's hold.
func copyWedding(ctx context.Context, reg *dibs.Registry, tx pgx.Tx, wedding, signup int64, slug string) error {
	owner := dibs.Entity{Type: "wedding", ID: fmt.Sprint(wedding)}
	return takeName(ctx, pgstore.WithTx(reg, tx), "slug", slug, tokenOf("signup", signup), owner)
}

// copyProduct makes the registry say what the history of a product's slugs says: each
// one that it has not, oldest first, and the present one last.
func copyProduct(ctx context.Context, reg *dibs.Registry, tx pgx.Tx, id int64, deleted bool) error {
	bound, product := pgstore.WithTx(reg, tx), dibs.Entity{Type: "product", ID: fmt.Sprint(id)}
	info, err := bound.Entity(ctx, "", product)
	if err != nil && !errors.Is(err, dibs.ErrEntityNotFound) {
		return err
	}
	has := make(map[string]bool)
	for _, name := range info.Names {
		has[name.Canonical] = true
	}
	rows, err := tx.Query(ctx, `SELECT slug FROM product_slugs WHERE product_id = $1 ORDER BY is_active, created_at, slug`, id)
	if err != nil {
		return err
	}
	slugs, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for i, slug := range slugs {
		if has[strings.ToLower(slug)] && i < len(slugs)-1 {
			continue
		}
		if _, err := bound.Rename(ctx, dibs.Rename{Namespace: "slug", Entity: product, Value: slug}); err != nil {
			return err
		}
	}
	if deleted {
		_, err = bound.Archive(ctx, dibs.Archive{Entity: product})
		return err
	}
	return nil
}

func TestMoveFromASlugColumnWithAHistoryTable(t *testing.T) {
	sequential(t)
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
