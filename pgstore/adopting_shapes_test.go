package pgstore_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/pgstore"
)

// What is here is shown in docs/adopting.md, line by line.

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
