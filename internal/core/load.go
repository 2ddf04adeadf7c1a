package core

import (
	"context"
	"fmt"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

// maxRounds is how often one decision may ask for more records. The longest rule needs four
// rounds if nothing changes meanwhile. But each round loads all records again, and a changed
// record may then lead to a different one.
const maxRounds = 50

// decideAll decides requests on one consistent state: it loads the records that they ask for
// until they ask for no more.
func decideAll(ctx context.Context, store dibs.Store, requests []*rules.Request) (*rules.Batch, error) {
	state := rules.NewBatch(requests)
	rounds := 0
	for _, r := range requests {
		// The records that a decision asks for may depend on the changes of earlier decisions.
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
	return nil, fmt.Errorf("dibs: %d requests still asked for more records after %d loads", len(requests), rounds)
}

// load loads the records that a batch wants, and lists the names of owners.
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
