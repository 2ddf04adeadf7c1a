package pgstore_test

import (
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/core"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/pgstore"
)

// A role that may create nothing needs only the rights in docs/engines.md.
func TestDocumentedRights(t *testing.T) {
	t.Parallel()
	text := string(must[[]byte](t)(os.ReadFile("../docs/engines.md")))
	_, rights, ok := strings.Cut(text, "<!-- sql: rights -->\n```sql\n")
	if !ok {
		t.Fatal("docs/engines.md has no block with the rights of a role")
	}
	rights, _, _ = strings.Cut(rights, "```")

	ctx, dsn := t.Context(), pgtest.Shared(t).NewDatabase(t)
	owner := must[*pgx.Conn](t)(pgx.Connect(ctx, dsn))
	exec := func(statements string) {
		t.Helper()
		if _, err := owner.PgConn().Exec(ctx, statements).ReadAll(); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE ROLE app LOGIN")
	defer func() {
		exec("DROP OWNED BY app; DROP ROLE app") // roles belong to the whole cluster
		_ = owner.Close(ctx)
	}()
	u := must[*url.URL](t)(url.Parse(dsn))
	u.User = url.User("app")
	cfg := pgstore.Config{NoMigrations: true}
	if _, err := pgstore.Open(ctx, u.String(), pgstore.Config{}); err == nil {
		t.Fatal("the role can create a schema")
	}
	if err := pgstore.Migrate(ctx, dsn, cfg); err != nil {
		t.Fatal(err)
	}
	if _, err := pgstore.Open(ctx, u.String(), cfg); err == nil {
		t.Fatal("the role can read the schema without any right")
	}
	exec(rights)
	store := must[*pgstore.Store](t)(pgstore.Open(ctx, u.String(), cfg))
	reg := must[*dibs.Registry](t)(core.Open(store, dibs.Config{}))
	defer func() { _ = reg.Close() }()
	life(t, reg)
	must[dibs.SweepReport](t)(reg.Sweep(ctx, 10))
	if events := must[dibs.EventPage](t)(reg.Events(ctx, dibs.FeedQuery{})).Events; len(events) == 0 {
		t.Error("there are no events")
	}
	if err := store.Fence(ctx, "elsewhere"); err == nil || !strings.Contains(err.Error(), "connect as their owner") {
		t.Errorf("a role that does not own the tables fences them: %v", err)
	}
	pool := must[*pgxpool.Pool](t)(pgxpool.New(ctx, u.String()))
	defer pool.Close()
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		_, err := pgstore.WithTx(reg, tx).Claim(ctx, claim("in-a-transaction", product))
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
