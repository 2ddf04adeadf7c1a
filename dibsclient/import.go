package dibsclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

// maxImports is how many names a request may have.
const maxImports = 1000

// ImportAll sends imports to the server, in several requests if there are many.
func (c *client) ImportAll(ctx context.Context, request dibs.ImportRequest) ([]dibs.Imported, error) {
	if err := knownByKey(request.Principal); err != nil {
		return nil, err
	}
	return c.importInParts(ctx, request, maxImports)
}

// importInParts sends requests of at most size imports. One whose values are too long for the server is sent
// in halves.
func (c *client) importInParts(ctx context.Context, request dibs.ImportRequest, size int) ([]dibs.Imported, error) {
	all := make([]dibs.Imported, 0, len(request.Imports))
	for some := range slices.Chunk(request.Imports, size) {
		request.Imports = some
		imported, err := c.importSome(ctx, request)
		if refused, ok := errors.AsType[*StatusError](err); ok && refused.Status == http.StatusRequestEntityTooLarge && len(some) > 1 {
			imported, err = c.importInParts(ctx, request, (len(some)+1)/2)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, imported...)
	}
	return all, nil
}

// importSome sends imports in one request. A second time they change nothing, so they are repeated
// when an answer is lost.
func (c *client) importSome(ctx context.Context, request dibs.ImportRequest) ([]dibs.Imported, error) {
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
