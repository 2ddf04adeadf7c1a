package sqlitestore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/calldibs/dibs/embedded"

	_ "modernc.org/sqlite" // the driver of the program's own tables

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/sqlitestore"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// tempFile returns the path of a database for an example.
func tempFile() (path string, remove func()) {
	folder, err := os.MkdirTemp("", "dibs-example-")
	check(err)
	return filepath.Join(folder, "shop.db"), func() { os.RemoveAll(folder) }
}

func ExampleOpen() {
	path, remove := tempFile()
	defer remove()
	ctx := context.Background()

	store, err := sqlitestore.Open(ctx, path, sqlitestore.Config{})
	check(err)
	reg, err := embedded.Open(store, dibs.Config{})
	check(err)
	defer reg.Close() // closes the store, too

	hold, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "alice-bob"})
	check(err)
	fmt.Println(hold.Key(), hold.State)
	// Output: slug:alice-bob held
}

// A product and its slug are created in one transaction: both or neither.
func ExampleWithTx() {
	path, remove := tempFile()
	defer remove()
	ctx := context.Background()

	// One file has the tables of the program and those of Dibs.
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)")
	check(err)
	defer db.Close()
	_, err = db.ExecContext(ctx, `CREATE TABLE products (id INTEGER PRIMARY KEY, title TEXT, current_slug TEXT)`)
	check(err)
	store, err := sqlitestore.Open(ctx, path, sqlitestore.Config{Shared: true})
	check(err)
	reg, err := embedded.Open(store, dibs.Config{})
	check(err)
	defer reg.Close()

	create := func(id int, title, slug string, pay func() error) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(ctx, `INSERT INTO products VALUES (?, ?, ?)`, id, title, slug); err != nil {
			return err
		}
		product := dibs.Entity{Type: "product", ID: fmt.Sprint(id)}
		if _, err := sqlitestore.WithTx(reg, tx).Claim(ctx, dibs.Claim{Namespace: "slug", Value: slug, Entity: product}); err != nil {
			return err // NAME_TAKEN, say: the product goes, too
		}
		if err := pay(); err != nil {
			return err
		}
		return tx.Commit()
	}
	show := func(slug string) {
		var products int
		check(db.QueryRowContext(ctx, `SELECT count(*) FROM products WHERE current_slug = ?`, slug).Scan(&products))
		taken, err := reg.IsReserved(ctx, "slug", slug)
		check(err)
		fmt.Printf("%s: %d product, taken %v\n", slug, products, taken)
	}

	fmt.Println(create(101, "The Aurora Kit", "the-aurora-kit", func() error { return nil }))
	show("the-aurora-kit")
	fmt.Println(create(102, "The Borealis Kit", "the-borealis-kit", func() error { return errors.New("card declined") }))
	show("the-borealis-kit")
	fmt.Println(create(103, "Another Aurora Kit", "the-aurora-kit", func() error { return nil }))
	// Output:
	// <nil>
	// the-aurora-kit: 1 product, taken true
	// card declined
	// the-borealis-kit: 0 product, taken false
	// dibs: NAME_TAKEN: slug:the-aurora-kit is in use
}
