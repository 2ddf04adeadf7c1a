package routestore

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/calldibs/dibs"
)

const verifyPage = 500

// verify makes sure that what is in each part belongs there by the routes, and reports
// whether all parts are empty.
func (s *Store) verify(ctx context.Context) (empty bool, err error) {
	counts, errs := make([]int, len(s.parts)), make([]error, len(s.parts))
	var verifying sync.WaitGroup
	for i, p := range s.parts {
		verifying.Go(func() {
			errs[i] = p.eachNamespace(ctx, func(namespace string) error {
				counts[i]++
				return s.table.mayKeep(i, namespace)
			})
		})
	}
	verifying.Wait()
	empty = true
	for _, n := range counts {
		empty = empty && n == 0
	}
	return empty, errors.Join(errs...)
}

func (t *table) mayKeep(part int, namespace string) error {
	scope := dibs.ScopeOf(namespace)
	home := t.partOf(scope)
	if home == part {
		return nil
	}
	return fmt.Errorf("routestore: %s is in the part %q, and the routes give its scope to %q: names are not moved, "+
		"and would be free there; give the scope %q to %q", namespace, t.names[part], t.names[home], scope, t.names[part])
}

// eachNamespace calls fn with every namespace that the part has names in, or ever had.
func (p *part) eachNamespace(ctx context.Context, fn func(namespace string) error) error {
	floors := dibs.ListQuery{Kind: dibs.KindFloor, Limit: verifyPage}
	for {
		page, err := p.engine.List(ctx, floors)
		if err != nil {
			return err
		}
		for _, record := range page {
			at := placeOf(record)
			if err := fn(at.Label); err != nil {
				return err
			}
			floors.After = &at
		}
		if len(page) < floors.Limit {
			break
		}
	}
	// Every namespace with names has a floor. But this must not go wrong, so names are looked
	// at as well: one of each namespace.
	names := dibs.ListQuery{Kind: dibs.KindName, Limit: 1}
	for {
		page, err := p.engine.List(ctx, names)
		if err != nil || len(page) == 0 {
			return err
		}
		namespace := placeOf(page[0]).Namespace
		if err := fn(namespace); err != nil {
			return err
		}
		// A space comes before all that a longer namespace could go on with.
		names.After = &dibs.ListPosition{Namespace: namespace + " "}
	}
}
