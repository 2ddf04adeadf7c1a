package core_test

import (
	"context"
	"testing"

	"github.com/calldibs/dibs"
)

// loadCounter is a store that counts what is loaded.
type loadCounter struct {
	dibs.Store
	loads, refs int
}

func (c *loadCounter) Load(ctx context.Context, refs []dibs.Ref) (dibs.Snapshots, error) {
	c.loads++
	c.refs += len(refs)
	return c.Store.Load(ctx, refs)
}

// What a command will look at is known before it is decided, nearly always: then it is
// loaded once, and no more than it takes.
func TestCommandsLoadOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	store := &loadCounter{Store: f.store}
	reg := mustOpen(t, store, dibs.Config{Policies: map[string]dibs.Policy{"few": {MaxHolds: 3}}})
	named := func(value string, entity dibs.Entity) dibs.Named { return dibs.Named{Value: value, Entity: entity} }
	for _, c := range []struct {
		name        string
		command     dibs.Command
		loads, refs int
	}{
		{"reserve", reserve("slug", "a", token1), 1, 2},       // the name, and its namespace's floor
		{"reserve few", reserve("few", "a", token1), 1, 3},    // and the principal's quota
		{"claim", claim("slug", "b", user1), 1, 3},            // and the entity
		{"claim another", claim("slug", "c", user2), 1, 3},    //
		{"rename", rename("slug", "d", user1), 2, 3 + 4},      // the present name is found by the entity
		{"rename back", rename("slug", "b", user1), 2, 3 + 4}, //
		{"swap", dibs.Swap{Namespace: "slug", A: named("b", user1), B: named("c", user2)}, 1, 4},
		{"transfer", dibs.Transfer{Namespace: "slug", Value: "d", From: user1, To: user3}, 1, 3},
		{"decommission", decommission("slug", "d", user3), 1, 2},
		{"extend", dibs.Extend{ID: dibs.NameID("slug", "a"), Token: token1}, 1, 1},
		{"confirm", dibs.Confirm{ID: dibs.NameID("slug", "a"), Token: token1, Entity: user3}, 1, 2},
		{"archive", dibs.Archive{Entity: user3}, 1, 1},
		{"restore", dibs.Restore{Entity: user3}, 1, 1},
	} {
		store.loads, store.refs = 0, 0
		if _, err := reg.Apply(f.ctx, c.command); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if store.loads != c.loads || store.refs != c.refs {
			t.Errorf("%s loaded %d records in %d loads, want %d in %d", c.name, store.refs, store.loads, c.refs, c.loads)
		}
	}
}

// Suggestions take one read more, however many they are, and however crowded it is.
func TestSuggestionsLoadOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, looks(dibs.Policy{}))
	f.must(claim("slug", "alice", user1), claim("slug", "alice-2", user2), claim("slug", "a1ice-3", user3))
	store := &loadCounter{Store: f.store}
	reg := mustOpen(t, store, dibs.Config{Policies: looks(dibs.Policy{})})
	_, err := reg.Check(f.ctx, dibs.CheckRequest{Namespace: "slug", Values: []string{"alice", "alice-2", "free"}, Suggest: 10})
	if err != nil || store.loads > 2 {
		t.Errorf("a check with suggestions: %d loads, %v", store.loads, err)
	}
	store.loads = 0
	_, err = reg.Reserve(f.ctx, dibs.Reserve{Namespace: "slug", Value: "alice"})
	e := f.checkError(err, dibs.ErrNameTaken)
	if store.loads != 2 || len(e.Suggestions) != 3 { // one to decide
		t.Errorf("a refusal with suggestions: %d loads, %v", store.loads, e.Suggestions)
	}
}
