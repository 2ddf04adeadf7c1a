package pgstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/pgstore"
)

// Updates of tables whose indexed columns stay the same are HOT: they leave the indexes alone, and
// their dead rows go without a vacuum. A name is different, since each change moves it in an index
// by its state or its date.
func TestHotUpdates(t *testing.T) {
	sequential(t)
	t.Parallel()
	ctx := context.Background()
	r := newRig(t).open(pgstore.Config{})
	reg := r.registry(r.store, dibs.Config{Policies: map[string]dibs.Policy{"few": {MaxHolds: 5}}})
	apply := func(command dibs.Command) {
		if _, err := reg.Apply(ctx, command); err != nil {
			t.Fatalf("%#v: %v", command, err)
		}
	}
	apply(dibs.Claim{Namespace: "slug", Value: "name", Entity: user("1")})
	const changes = 25
	for i := range changes {
		apply(dibs.Rename{Namespace: "slug", Value: fmt.Sprint("name-", i), Entity: user("1")}) // the entity, the counts, the feed
		hold, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "few", Value: fmt.Sprint(i)})     // the quota
		if err != nil {
			t.Fatal(err)
		}
		apply(dibs.Extend{ID: hold.ID, Token: hold.Token, TTL: dibs.For(time.Hour)})
		apply(dibs.Release{ID: hold.ID, Token: hold.Token})
	}
	if _, err := r.store.Latest(ctx); err != nil { // numbers what is left
		t.Fatal(err)
	}
	r.leave()
	for _, table := range []string{"dibs_entities", "dibs_documents", "dibs_counts", "dibs_head"} {
		const share = "SELECT n_tup_hot_upd::float8 / greatest(n_tup_upd, 1) FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = $2"
		if hot := ask[float64](r, share, r.schema, table); hot < 0.9 {
			t.Errorf("%.2f of the updates of %s are HOT, want at least 0.9", hot, table)
		}
	}
}
