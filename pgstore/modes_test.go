package pgstore_test

import (
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/core"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/pgstore"
)

// Poolers between pgx and the server may not support prepared statements. For those pgx has other
// modes, by default_query_exec_mode in the DSN.
func TestEveryExecModeOfPgx(t *testing.T) {
	sequential(t)
	t.Parallel()
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			dsn := withParam(t, pgtest.Shared(t).DSN("postgres"), "default_query_exec_mode", mode)
			cfg := pgstore.Config{Schema: pgtest.Shared(t).NewSchema(t)}
			store := must[*pgstore.Store](t)(pgstore.Open(t.Context(), dsn, cfg))
			reg := must[*dibs.Registry](t)(core.Open(store, dibs.Config{}))
			t.Cleanup(func() { _ = reg.Close() })
			pool := must[*pgxpool.Pool](t)(pgxpool.New(t.Context(), dsn))
			t.Cleanup(pool.Close)
			for way, begin := range ways {
				tx, err := begin(pool)(t.Context(), "")
				if err != nil {
					t.Fatal(err)
				}
				life(t, pgstore.WithTx(reg, tx.tx))
				if err := tx.rollback(); err != nil {
					t.Errorf("%s: %v", way, err)
				}
			}
			for value, state := range life(t, reg) {
				if got := coretest.StateOf(t, reg, value); got != state {
					t.Errorf("%s is %s, want %s", value, got, state)
				}
			}
			if page, err := reg.Events(t.Context(), dibs.FeedQuery{}); err != nil || len(page.Events) < 10 {
				t.Errorf("%d events, %v", len(page.Events), err)
			}
		})
	}
}

func TestExecModesThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"exec", "simple_protocol"} {
		dsn := withParam(t, pgtest.Shared(t).DSN("postgres"), "default_query_exec_mode", mode)
		if _, err := pgstore.Open(t.Context(), dsn, pgstore.Config{Schema: "never"}); err == nil || !strings.Contains(err.Error(), "cache_describe") {
			t.Errorf("%s: %v", mode, err)
		}
	}
}
