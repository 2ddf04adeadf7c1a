package pgstore_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/pgstore"
)

// An event store can enforce that a stream has one event of each version, but not that a slug in their
// payloads is unique. The registry can, in the same transaction.
func ExampleWithTx_eventStore() {
	dsn, drop := newDatabase()
	defer drop()
	ctx := context.Background()
	reg, db, closeBoth := openBoth(dsn)
	defer closeBoth()
	_, err := db.Exec(ctx, `CREATE TABLE events (
		stream_id text NOT NULL, version bigint NOT NULL, type text NOT NULL, payload jsonb NOT NULL,
		PRIMARY KEY (stream_id, version))`)
	check(err)

	// appendTo adds an event to a stream at a version. A second one for the same version violates the
	// primary key.
	appendTo := func(tx pgx.Tx, stream string, version int, event string, payload map[string]string) error {
		_, err := tx.Exec(ctx, `INSERT INTO events VALUES ($1, $2, $3, $4)`, stream, version+1, event, payload)
		return err
	}
	createTenant := func(id, slug string) error {
		return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			name, err := pgstore.WithTx(reg, tx).Claim(ctx, dibs.Claim{
				Namespace: "tenant", Value: slug, Entity: dibs.Entity{Type: "tenant", ID: id},
			})
			if err != nil {
				return err
			}
			return appendTo(tx, "tenant-"+id, 0, "TenantCreated", map[string]string{"slug": name.Canonical})
		})
	}
	moveTenant := func(id string, version int, slug string) error {
		return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			name, err := pgstore.WithTx(reg, tx).Rename(ctx, dibs.Rename{
				Namespace: "tenant", Value: slug, Entity: dibs.Entity{Type: "tenant", ID: id},
			})
			if err != nil {
				return err
			}
			return appendTo(tx, "tenant-"+id, version, "TenantMoved", map[string]string{"slug": name.Canonical})
		})
	}

	check(createTenant("a", "acme"))
	err = createTenant("b", "acme")
	fmt.Println("a second acme is refused:", errors.Is(err, dibs.ErrNameTaken))

	check(moveTenant("a", 1, "acme-group"))
	err = moveTenant("a", 1, "acme-world") // without having seen the move
	fmt.Println("a conflict in the event store:", err != nil)
	taken, err := reg.IsReserved(ctx, "tenant", "acme-world")
	check(err)
	fmt.Println("acme-world is taken:", taken)

	rows, err := db.Query(ctx, `SELECT stream_id || ' ' || version || ' ' || type || ' ' || (payload->>'slug') FROM events ORDER BY 1`)
	check(err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	check(err)
	for _, line := range lines {
		fmt.Println(line)
	}
	// Output:
	// a second acme is refused: true
	// a conflict in the event store: true
	// acme-world is taken: false
	// tenant-a 1 TenantCreated acme
	// tenant-a 2 TenantMoved acme-group
}
