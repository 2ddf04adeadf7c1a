package keys

import (
	"context"

	"github.com/calldibs/dibs"
)

const pageSize = 100

// List returns all keys by name, also those that are over and not revoked.
func (r *Ring) List(ctx context.Context) ([]Key, error) {
	var keys []Key
	query := dibs.ListQuery{Kind: kindKey, Limit: pageSize}
	for {
		page, err := r.store.List(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, record := range page {
			doc, ok := record.(*dibs.Document)
			if !ok {
				continue
			}
			key, _, err := read(doc)
			if err != nil {
				return nil, err
			}
			keys = append(keys, key)
			query.After = &dibs.ListPosition{Label: doc.Label}
		}
		if len(page) < pageSize {
			return keys, nil
		}
	}
}

// Any reports whether there is a key, also one that is over. The answer may be a second
// old, unless this Ring made or revoked a key since.
func (r *Ring) Any(ctx context.Context) (bool, error) {
	if some, known := r.cache.getAny(); known {
		return some, nil
	}
	since := r.cache.now()
	page, err := r.store.List(ctx, dibs.ListQuery{Kind: kindKey, Limit: 1})
	if err != nil {
		return false, err
	}
	r.cache.putAny(len(page) > 0, since)
	return len(page) > 0, nil
}
