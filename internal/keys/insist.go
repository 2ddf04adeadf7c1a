package keys

import (
	"context"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/document"
)

// errAgain asks for another try.
var errAgain = document.ErrStale

// insist commits what decide returns, and decides again if a key changed meanwhile.
func (r *Ring) insist(ctx context.Context, decide func() (dibs.Group, error)) error {
	return document.Update(ctx, r.store, decide)
}
