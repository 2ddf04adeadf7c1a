package pgstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver for database/sql

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/pgstore"
)

// The row of a product and its slug are created, renamed and deleted in one transaction each. They are
// always consistent, and need no clean-up.
func ExampleWithTx() {
	dsn, drop := newDatabase()
	defer drop()
	ctx := context.Background()
	reg, db, closeBoth := openBoth(dsn) // pgstore.Open and embedded.Open; pgxpool.New
	defer closeBoth()
	_, err := db.Exec(ctx, `CREATE TABLE products (id bigint PRIMARY KEY, title text, current_slug text, deleted_at timestamptz)`)
	check(err)
	entity := func(id int) dibs.Entity { return dibs.Entity{Type: "product", ID: fmt.Sprint(id)} }

	create := func(id int, title, slug string) error {
		return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			name, err := pgstore.WithTx(reg, tx).Claim(ctx, dibs.Claim{Namespace: "slug", Value: slug, Entity: entity(id)})
			if err != nil {
				return err // for example NAME_TAKEN, with suggestions
			}
			_, err = tx.Exec(ctx, `INSERT INTO products VALUES ($1, $2, $3)`, id, title, name.Canonical)
			return err
		})
	}
	rename := func(id int, slug string) error {
		return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			name, err := pgstore.WithTx(reg, tx).Rename(ctx, dibs.Rename{Namespace: "slug", Entity: entity(id), Value: slug})
			if err != nil {
				return err
			}
			_, err = tx.Exec(ctx, `UPDATE products SET current_slug = $2 WHERE id = $1`, id, name.Canonical)
			return err
		})
	}
	softDelete := func(id int) error {
		return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `UPDATE products SET deleted_at = now() WHERE id = $1`, id); err != nil {
				return err
			}
			_, err := pgstore.WithTx(reg, tx).Archive(ctx, dibs.Archive{Entity: entity(id)})
			return err
		})
	}
	hardDelete := func(id int) error {
		return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `DELETE FROM products WHERE id = $1`, id); err != nil {
				return err
			}
			_, err := pgstore.WithTx(reg, tx).Delete(ctx, dibs.Delete{Entity: entity(id)})
			return err
		})
	}

	check(create(101, "The Aurora Kit", "aurora-flower-kit"))
	fmt.Println(create(102, "Another Kit", "aurora-flower-kit"))

	check(rename(101, "the-aurora-kit"))
	where(reg, "the-aurora-kit", "aurora-flower-kit")

	check(softDelete(101))
	where(reg, "the-aurora-kit")
	fmt.Println(create(102, "Another Kit", "the-aurora-kit"))

	check(hardDelete(101))
	check(create(102, "Another Kit", "the-aurora-kit"))
	where(reg, "the-aurora-kit", "aurora-flower-kit")
	// Output:
	// dibs: NAME_TAKEN: slug:aurora-flower-kit is in use
	// the-aurora-kit 200
	// aurora-flower-kit 301 to the-aurora-kit
	// the-aurora-kit 404
	// dibs: NAME_TAKEN: slug:the-aurora-kit is in use
	// the-aurora-kit 200
	// aurora-flower-kit 404
}

// The same with database/sql, at REPEATABLE READ: a transaction that loses a race runs again.
func ExampleWithTx_databaseSQL() {
	dsn, drop := newDatabase()
	defer drop()
	ctx := context.Background()
	reg, _, closeBoth := openBoth(dsn)
	defer closeBoth()
	db, err := sql.Open("pgx", dsn)
	check(err)
	defer db.Close()
	_, err = db.ExecContext(ctx, `CREATE TABLE products (id bigint PRIMARY KEY, title text, current_slug text)`)
	check(err)

	try := func(id int, title, slug string) error {
		tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
		if err != nil {
			return err
		}
		defer tx.Rollback() // does nothing after a commit
		name, err := pgstore.WithTx(reg, tx).Claim(ctx, dibs.Claim{
			Namespace: "slug", Value: slug, Entity: dibs.Entity{Type: "product", ID: fmt.Sprint(id)},
		})
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO products VALUES ($1, $2, $3)`, id, title, name.Canonical); err != nil {
			return err
		}
		return tx.Commit()
	}
	create := func(id int, title, slug string) (err error) {
		for range 5 {
			if err = try(id, title, slug); !errors.Is(err, dibs.ErrRetryTx) {
				break
			}
		}
		return err
	}

	fmt.Println(create(101, "The Aurora Kit", "the-aurora-kit"))
	fmt.Println(create(102, "Another Kit", "the-aurora-kit"))
	var products int
	check(db.QueryRowContext(ctx, `SELECT count(*) FROM products`).Scan(&products))
	fmt.Println(products, "product")
	// Output:
	// <nil>
	// dibs: NAME_TAKEN: slug:the-aurora-kit is in use
	// 1 product
}
