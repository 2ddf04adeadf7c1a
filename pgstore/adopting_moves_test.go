package pgstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
)

// batchOf reads a batch by the SQL of the guide, copies each row, and reports refusals.
func batchOf[R any, K comparable](m *move, label string, copyRow func(ctx context.Context, tx pgx.Tx, row R) (key K, slug string, owner dibs.Entity, err error)) func(pgx.Tx, K) (K, error) {
	text := m.text(label)
	return func(tx pgx.Tx, after K) (K, error) {
		ctx := m.Context()
		rows, err := tx.Query(ctx, text, after)
		if err != nil {
			return after, err
		}
		list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[R])
		if err != nil {
			return after, err
		}
		for _, row := range list {
			key, slug, owner, err := copyRow(ctx, tx, row)
			if err := report(ctx, tx, slug, owner, err); err != nil {
				return after, err
			}
			after = key
		}
		return after, nil
	}
}

// backfillOf is step 3, while customers write.
func backfillOf[K comparable](m *move, first K, batch func(pgx.Tx, K) (K, error)) {
	m.Helper()
	if err := backfill(m.Context(), m.db, first, batch); err != nil {
		m.Fatal(err)
	}
}

func (m *move) conflicts(want int) {
	m.Helper()
	var n int
	if err := m.db.QueryRow(m.Context(), "SELECT count(*) FROM slug_conflicts").Scan(&n); err != nil || n != want {
		m.Errorf("%d conflicts, %v, want %d", n, err, want)
	}
}

// events counts the events: a repeated step must add none.
func (m *move) events() (n int) {
	m.Helper()
	if err := m.db.QueryRow(m.Context(), "SELECT count(*) FROM dibs.dibs_feed").Scan(&n); err != nil {
		m.Fatal(err)
	}
	return n
}

func (m *move) resolves(namespace, slug string, status int) {
	m.Helper()
	if r := must[dibs.Resolution](m.T)(m.reg.Resolve(m.Context(), namespace, slug)); r.Status != status {
		m.Errorf("%s: %d, want %d", slug, r.Status, status)
	}
}

// inTx runs a customer's transaction.
func (m *move) inTx(ctx context.Context, work func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, m.db, work)
}

func TestMoveFromTwoStatementsAndACleanUpJob(t *testing.T) {
	sequential(t)
	t.Parallel()
	m := beginMove(t, "a")
	m.exec(`INSERT INTO tenant_slug_registry (slug, tenant_id, confirmed, reserved_at)
		SELECT 'seed-' || i, gen_random_uuid(), i % 5 <> 0, CASE WHEN i % 10 = 0 THEN now() - interval '2 hours' ELSE now() END FROM generate_series(1, 110) i;
		INSERT INTO tenant_slug_registry (slug, tenant_id, confirmed) VALUES ('ACME', gen_random_uuid(), true), ('acme', gen_random_uuid(), true)`)
	if n := m.rows("a/twins"); n != 1 {
		t.Errorf("%d twins", n)
	}
	m.write(func(ctx context.Context, i int64, both bool) error {
		row := tenantSlug{Slug: fmt.Sprint("Tenant-", i), Tenant: fmt.Sprintf("00000000-0000-0000-0000-%012d", i), Left: time.Hour}
		change := func(statement string) error {
			return m.inTx(ctx, func(tx pgx.Tx) error {
				if err := tx.QueryRow(ctx, statement, row.Slug, row.Tenant).Scan(&row.ReservedAt); err != nil || !both {
					return err
				}
				return copyTenant(ctx, m.reg, tx, row)
			})
		}
		if err := change("INSERT INTO tenant_slug_registry (slug, tenant_id) VALUES ($1, $2) RETURNING reserved_at"); err != nil || i%3 == 0 {
			return err
		}
		row.Confirmed = true
		return change("UPDATE tenant_slug_registry SET confirmed = true WHERE slug = $1 AND tenant_id = $2 RETURNING reserved_at")
	})
	m.meanwhile()
	m.install()
	m.deploy()
	copying := batchOf(m, "a/batch", func(ctx context.Context, tx pgx.Tx, row tenantSlug) (string, string, dibs.Entity, error) {
		return row.Slug, row.Slug, dibs.Entity{Type: "tenant", ID: row.Tenant}, copyTenant(ctx, m.reg, tx, row)
	})
	backfillOf(m, "", copying)
	m.conflicts(1)
	m.verify("a/verify", 1)

	// The other acme gets a slug of its own.
	err := m.inTx(t.Context(), func(tx pgx.Tx) error {
		row := tenantSlug{Slug: "acme-2", Confirmed: true}
		err := tx.QueryRow(t.Context(), `UPDATE tenant_slug_registry SET slug = 'acme-2' WHERE slug = 'acme' RETURNING tenant_id::text`).Scan(&row.Tenant)
		if err != nil {
			return err
		}
		return copyTenant(t.Context(), m.reg, tx, row)
	})
	if err != nil {
		t.Fatal(err)
	}
	m.verify("a/verify", 0)
	m.end()
	before := m.events()
	backfillOf(m, "", copying)
	if after := m.events(); after != before {
		t.Errorf("a second backfill added %d events", after-before)
	}
	m.resolves("tenant", "acme-2", 200)
	m.resolves("tenant", "seed-1", 200)
	for slug, held := range map[string]bool{"seed-5": true, "seed-10": false} { // under way, and due for the job
		if got := must[bool](t)(m.reg.IsReserved(t.Context(), "tenant", slug)); got != held {
			t.Errorf("%s is held: %v", slug, got)
		}
	}
	m.run("a/drop")
}

func TestMoveFromCheckThenInsert(t *testing.T) {
	sequential(t)
	t.Parallel()
	m := beginMove(t, "b")
	m.exec(`INSERT INTO weddings (signup_id, slug) SELECT -i, 'seed-' || i FROM generate_series(1, 105) i;
		INSERT INTO weddings (signup_id, slug) VALUES (-1001, 'alice-bob'), (-1002, 'Alice-Bob');
		INSERT INTO pending_signups (email, slug) SELECT 'x@example.com', 'pending-' || i FROM generate_series(1, 105) i`)
	if n := m.rows("b/twins"); n != 1 {
		t.Errorf("%d twins", n)
	}
	m.write(func(ctx context.Context, i int64, both bool) error {
		slug := fmt.Sprint("Wedding-", i)
		var signup, wedding int64
		err := m.inTx(ctx, func(tx pgx.Tx) error {
			err := tx.QueryRow(ctx, "INSERT INTO pending_signups (email, slug) VALUES ('x@example.com', $1) RETURNING id", slug).Scan(&signup)
			if err != nil || !both {
				return err
			}
			return copySignup(ctx, m.reg, tx, signup, slug, 30*time.Minute)
		})
		if err != nil || i%3 == 0 {
			return err
		}
		return m.inTx(ctx, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "UPDATE pending_signups SET completed_at = now() WHERE id = $1", signup); err != nil {
				return err
			}
			err := tx.QueryRow(ctx, "INSERT INTO weddings (signup_id, slug) VALUES ($1, $2) RETURNING id", signup, slug).Scan(&wedding)
			if err != nil || !both {
				return err
			}
			return copyWedding(ctx, m.reg, tx, wedding, signup, slug)
		})
	})
	m.meanwhile()
	m.install()
	m.deploy()
	type weddingRow struct {
		ID, Signup int64
		Slug       string
	}
	type signupRow struct {
		ID   int64
		Slug string
		Left time.Duration
	}
	weddings := batchOf(m, "b/batch-weddings", func(ctx context.Context, tx pgx.Tx, w weddingRow) (int64, string, dibs.Entity, error) {
		return w.ID, w.Slug, dibs.Entity{Type: "wedding", ID: fmt.Sprint(w.ID)}, copyWedding(ctx, m.reg, tx, w.ID, w.Signup, w.Slug)
	})
	signups := batchOf(m, "b/batch-signups", func(ctx context.Context, tx pgx.Tx, s signupRow) (int64, string, dibs.Entity, error) {
		return s.ID, s.Slug, dibs.Entity{Type: "signup", ID: fmt.Sprint(s.ID)}, copySignup(ctx, m.reg, tx, s.ID, s.Slug, s.Left)
	})
	backfillOf(m, 0, weddings)
	backfillOf(m, 0, signups)
	m.conflicts(1)
	m.verify("b/verify", 1)
	m.exec("UPDATE weddings SET slug = 'alice-bob-2' WHERE slug = 'Alice-Bob'")
	backfillOf(m, 0, weddings) // copies the one row
	m.verify("b/verify", 0)
	m.end()
	for slug, status := range map[string]int{"alice-bob": 200, "alice-bob-2": 200, "seed-105": 200, "pending-105": 404} {
		m.resolves("slug", slug, status)
	}
	if !must[bool](t)(m.reg.IsReserved(t.Context(), "slug", "pending-105")) {
		t.Error("a pending signup has no hold")
	}
}
