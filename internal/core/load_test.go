package core_test

import (
	"context"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// loadCounter is a store that counts loads and loaded records.
type loadCounter struct {
	dibs.Store
	loads, refs int
}

func (c *loadCounter) Load(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
	c.loads++
	c.refs += len(refs)
	return c.Store.Load(ctx, refs)
}

// The records that a command needs are nearly always known before it is decided. They are loaded
// once, and no others.
func TestCommandsLoadOnce(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	store := &loadCounter{Store: f.Engine}
	reg := coretest.MustOpen(t, store, dibs.Config{Policies: map[string]dibs.Policy{"few": {MaxHolds: 3}}})
	named := func(value string, entity dibs.Entity) dibs.Named { return dibs.Named{Value: value, Entity: entity} }
	for _, c := range []struct {
		name        string
		command     dibs.Command
		loads, refs int
	}{
		{"reserve", coretest.Reserve("slug", "a", coretest.Token1), 1, 2},       // the name and the namespace record
		{"reserve few", coretest.Reserve("few", "a", coretest.Token1), 1, 3},    // also the principal's quota
		{"claim", coretest.Claim("slug", "b", coretest.User1), 1, 3},            // also the entity
		{"claim another", coretest.Claim("slug", "c", coretest.User2), 1, 3},    //
		{"rename", coretest.Rename("slug", "d", coretest.User1), 2, 3 + 4},      // the present name is found by the entity
		{"rename back", coretest.Rename("slug", "b", coretest.User1), 2, 3 + 4}, //
		{"swap", dibs.Swap{Namespace: "slug", A: named("b", coretest.User1), B: named("c", coretest.User2)}, 1, 4},
		{"transfer", dibs.Transfer{Namespace: "slug", Value: "d", From: coretest.User1, To: coretest.User3}, 1, 3},
		{"decommission", coretest.Decommission("slug", "d", coretest.User3), 1, 2},
		{"extend", dibs.Extend{ID: dibs.NameID("slug", "a"), Token: coretest.Token1}, 1, 1},
		{"confirm", dibs.Confirm{ID: dibs.NameID("slug", "a"), Token: coretest.Token1, Entity: coretest.User3}, 1, 2},
		{"archive", dibs.Archive{Entity: coretest.User3}, 1, 1},
		{"restore", dibs.Restore{Entity: coretest.User3}, 1, 1},
	} {
		store.loads, store.refs = 0, 0
		if _, err := reg.Apply(f.Ctx, c.command); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if store.loads != c.loads || store.refs != c.refs {
			t.Errorf("%s loaded %d records in %d loads, want %d in %d", c.name, store.refs, store.loads, c.refs, c.loads)
		}
	}
}
