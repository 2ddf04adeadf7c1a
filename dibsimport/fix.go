package dibsimport

import (
	"context"

	"github.com/calldibs/dibs"
)

// Fixed is what Fix did.
type Fixed struct {
	Report
	Restored int `json:"restored"` // entities that were restored
}

// Fix imports the missing names of a comparison that can be imported, and archives or restores
// entities as the source says. It changes no owner and gives up no name. Lost and Progress of the
// options are used.
func (c *Comparison) Fix(ctx context.Context, registry *dibs.Registry, options Options) (Fixed, error) {
	options.OnConflict, options.Plan = First, nil
	r := newRunner(ctx, registry, options)
	defer r.later.close()
	var fixed Fixed
	err := c.missing.each(r.take)
	if err == nil {
		err = r.flush()
	}
	if err == nil {
		err = r.finish()
	}
	if err == nil {
		err = c.archived.each(func(row Row) error {
			if row.Archived {
				changed, err := r.archive(row)
				if changed {
					r.report.Archived++
				}
				return err
			}
			result, err := registry.Restore(ctx, dibs.Restore{Scope: dibs.ScopeOf(row.Namespace), Entity: row.Entity})
			if err == nil && !result.Replayed {
				fixed.Restored++
			}
			return err
		})
	}
	fixed.Report = r.report
	return fixed, err
}
