package dibsclient

import (
	"context"
	"fmt"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

// ImportAll sends imports to the server. A second time they change nothing, so they are repeated
// when an answer is lost.
func (c *client) ImportAll(ctx context.Context, request dibs.ImportRequest) ([]dibs.Imported, error) {
	if err := knownByKey(request.Principal); err != nil {
		return nil, err
	}
	body := struct {
		DryRun bool          `json:"dryRun,omitempty"`
		Names  []wire.Import `json:"names"`
	}{request.DryRun, wire.ListOf(request.Imports, wire.ImportOf)}
	type results struct {
		Results []wire.Imported `json:"results"`
	}
	do := post("import", "/v1/imports", body)
	do.changes = !request.DryRun
	return fetch(ctx, c, do, func(w results) ([]dibs.Imported, error) {
		if len(w.Results) != len(body.Names) {
			return nil, fmt.Errorf("%d results for %d names", len(w.Results), len(body.Names))
		}
		imported := make([]dibs.Imported, len(w.Results))
		for i, result := range w.Results {
			var err error
			if imported[i], err = result.Imported(); err != nil {
				return nil, err
			}
		}
		return imported, nil
	})
}
