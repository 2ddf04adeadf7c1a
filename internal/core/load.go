package core

import (
	"context"
	"fmt"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

// maxRounds is how often one decision may ask for further records. The longest rule needs
// four rounds if nothing changes meanwhile. But each round loads everything anew, and the
// record that led to another one may lead to a third by then.
const maxRounds = 50

// decideAll decides requests on one consistent state: it loads what they ask for until they
// ask for nothing more.
func decideAll(ctx context.Context, store dibs.Store, requests []*rules.Request) (*rules.Batch, error) {
	state := rules.NewBatch(requests)
	rounds := 0
	for _, r := range requests {
		// What one decision asks for may depend on the changes of those before it.
		rounds += maxRounds * r.Length()
	}
	for range rounds {
		if err := load(ctx, store, state); err != nil {
			return nil, err
		}
		state.Decide(requests)
		if state.Complete() {
			return state, nil
		}
	}
	return nil, fmt.Errorf("dibs: %d requests asked for more records %d times", len(requests), rounds)
}

// load loads everything that a batch wants.
func load(ctx context.Context, store dibs.Store, state *rules.Batch) error {
	refs, owners := state.Wanted()
	loaded, err := store.Load(ctx, refs)
	if err != nil {
		return err
	}
	owned := make([][]*dibs.NameRecord, len(owners))
	for i, o := range owners {
		if owned[i], err = store.Owned(ctx, o.Scope, o.Entity, rules.OwnedLimit); err != nil {
			return err
		}
	}
	state.Load(loaded, owned)
	return nil
}
