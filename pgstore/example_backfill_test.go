package pgstore_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/pgstore"
)

// backfill copies a table in the order of a key, each batch in a transaction. Copying
// twice changes nothing, so it can be stopped and begun again at any time.
func backfill[K comparable](ctx context.Context, db *pgxpool.Pool, after K, batch func(tx pgx.Tx, after K) (last K, err error)) error {
	for {
		var last K
		err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) (err error) {
			last, err = batch(tx, after)
			return err
		})
		switch {
		case errors.Is(err, dibs.ErrRetryTx): // a deadlock with the application, say
		case err != nil:
			return err
		case last == after:
			return nil // the end of the table
		default:
			after = last
		}
	}
}

// report stores a refusal, and returns any other error. At READ COMMITTED the transaction goes on.
func report(ctx context.Context, tx pgx.Tx, slug string, owner dibs.Entity, err error) error {
	refused, ok := errors.AsType[*dibs.Error](err)
	if !ok || errors.Is(err, dibs.ErrUnavailable) || errors.Is(err, dibs.ErrOutcomeUnknown) {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO slug_conflicts (slug, owner, code) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
		slug, owner.String(), string(refused.Code))
	return err
}

const createConflicts = `CREATE TABLE slug_conflicts (
	slug text, owner text, code text, found_at timestamptz DEFAULT now(), PRIMARY KEY (slug, owner))`

// The names of an existing table are copied to the registry, in batches. Refusals, because two rows
// have the same name, are reported.
func Example_backfill() {
	dsn, drop := newDatabase()
	defer drop()
	ctx := context.Background()
	reg, db, closeBoth := openBoth(dsn)
	defer closeBoth()
	for _, statement := range []string{
		`CREATE TABLE shops (id bigint PRIMARY KEY, slug text)`, // two rows may have one slug
		`INSERT INTO shops VALUES (1, 'spring'), (2, 'summer'), (3, 'spring'), (4, 'autumn')`,
		createConflicts,
	} {
		_, err := db.Exec(ctx, statement)
		check(err)
	}

	copyShops := func(tx pgx.Tx, after int64) (last int64, err error) {
		// The rows are locked, so that they do not change before they are copied.
		rows, err := tx.Query(ctx, `SELECT id, slug FROM shops WHERE id > $1 ORDER BY id LIMIT 3 FOR UPDATE`, after)
		if err != nil {
			return 0, err
		}
		type shop struct {
			ID   int64
			Slug string
		}
		shops, err := pgx.CollectRows(rows, pgx.RowToStructByPos[shop])
		if err != nil {
			return 0, err
		}
		last = after
		for _, s := range shops {
			last = s.ID
			entity := dibs.Entity{Type: "shop", ID: fmt.Sprint(s.ID)}
			_, err := pgstore.WithTx(reg, tx).Claim(ctx, dibs.Claim{Namespace: "slug", Value: s.Slug, Entity: entity})
			if err := report(ctx, tx, s.Slug, entity, err); err != nil {
				return 0, err
			}
		}
		return last, nil
	}
	for range 2 { // the second time it changes nothing
		check(backfill(ctx, db, 0, copyShops))
	}

	page, err := reg.List(ctx, dibs.NamesQuery{Namespace: "slug"})
	check(err)
	for _, n := range page.Names {
		fmt.Println(n.Key(), n.Entity)
	}
	var slug, owner, code string
	check(db.QueryRow(ctx, `SELECT slug, owner, code FROM slug_conflicts`).Scan(&slug, &owner, &code))
	fmt.Println("conflict:", slug, owner, code)
	// Output:
	// slug:autumn shop/4
	// slug:spring shop/1
	// slug:summer shop/2
	// conflict: spring shop/3 NAME_TAKEN
}
