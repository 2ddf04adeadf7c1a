package routestore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
)

const checkPage = 500

// checkNamespaces checks that the routes give all namespaces of a part to that part, and reports
// whether all parts are empty.
func (s *Store) checkNamespaces(ctx context.Context) (empty bool, err error) {
	counts, errs := make([]int, len(s.parts)), make([]error, len(s.parts))
	var checks sync.WaitGroup
	for i, p := range s.parts {
		checks.Go(func() {
			errs[i] = p.eachNamespace(ctx, func(namespace string) error {
				counts[i]++
				return s.table.checkPart(i, namespace)
			})
		})
	}
	checks.Wait()
	return slices.Max(counts) == 0, errors.Join(errs...)
}

// checkPart checks that a namespace belongs to a part.
func (t *table) checkPart(part int, namespace string) error {
	scope := dibs.ScopeOf(namespace)
	home := t.partOf(scope)
	if home == part {
		return nil
	}
	return fmt.Errorf("routestore: %s is in the part %q, but the routes give its scope to %q: names do not move, "+
		"and would be free there; give the scope %q to %q", namespace, t.names[part], t.names[home], scope, t.names[part])
}

// eachNamespace calls fn with every namespace that has, or ever had, names in the part.
func (p *part) eachNamespace(ctx context.Context, fn func(namespace string) error) error {
	records := dibs.ListQuery{Kind: dibs.KindNamespace, Limit: checkPage}
	for {
		page, err := p.engine.List(ctx, records)
		if err != nil {
			return err
		}
		for _, r := range page {
			at := record.Position(r)
			if err := fn(at.Label); err != nil {
				return err
			}
			records.After = &at
		}
		if len(page) < records.Limit {
			break
		}
	}
	// Every namespace with names has a namespace record. To be safe, this also reads one name of
	// each namespace.
	names := dibs.ListQuery{Kind: dibs.KindName, Limit: 1}
	for {
		page, err := p.engine.List(ctx, names)
		if err != nil || len(page) == 0 {
			return err
		}
		at := record.Position(page[0])
		if err := fn(at.Namespace); err != nil {
			return err
		}
		// A space sorts before all characters of a longer namespace.
		names.After = &dibs.ListPosition{Namespace: at.Namespace + " "}
	}
}
