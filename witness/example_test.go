package witness_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/witness"
	_ "modernc.org/sqlite" // the driver of the program's database
)

func ExampleNewHTTP() {
	// The service that stores orders knows which of them exist.
	orders := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"outcome": "exists", "entity": {"type": "order", "id": "7"}}`)
	}))
	defer orders.Close()

	w, err := witness.NewHTTP(witness.HTTPConfig{
		URL:    orders.URL,
		Header: http.Header{"Authorization": {"Bearer secret"}},
	})
	if err != nil {
		panic(err)
	}
	defer func() { _ = w.Close() }()
	policy := dibs.Policy{Witness: w.Ask}

	verdict, err := policy.Witness(context.Background(), dibs.SuspectHold{Namespace: "slug", Canonical: "alice-bob"})
	fmt.Println(verdict.Outcome())
	fmt.Println(err)
	// Output:
	// exists order/7
	// <nil>
}

func ExampleNewSQL() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1) // each connection would have its own database
	if _, err := db.ExecContext(ctx, "CREATE TABLE weddings (id TEXT, correlation TEXT); INSERT INTO weddings VALUES ('42', 'corr_1')"); err != nil {
		panic(err)
	}

	w, err := witness.NewSQL(witness.SQLConfig{
		DB: db, Dialect: witness.SQLite,
		Query:       "SELECT 'wedding' AS type, id FROM weddings WHERE correlation = :correlationId",
		AbsentAfter: time.Minute, // saves have ended by then
	})
	if err != nil {
		panic(err)
	}
	defer func() { _ = w.Close() }()
	policy := dibs.Policy{Witness: w.Ask}

	for _, correlation := range []string{"corr_1", "corr_2"} {
		for _, after := range []time.Duration{time.Second, time.Hour} {
			end := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
			verdict, err := policy.Witness(ctx, dibs.SuspectHold{CorrelationID: correlation, ExpiresAt: end, AskedAt: end.Add(after)})
			outcome, _ := verdict.Outcome()
			fmt.Println(correlation, after, outcome, err)
		}
	}
	// Output:
	// corr_1 1s exists <nil>
	// corr_1 1h0m0s exists <nil>
	// corr_2 1s unknown <nil>
	// corr_2 1h0m0s absent <nil>
}
