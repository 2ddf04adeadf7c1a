package dibscache

import (
	"context"

	"github.com/calldibs/dibs"
)

// Resolve returns where a name leads, or led at most MaxStale ago: [dibs.Resolution.Age] is
// the maximum age. Callers share the result, and must not change what it points to.
func (c *Cache) Resolve(ctx context.Context, namespace, value string) (dibs.Resolution, error) {
	k := key{kindResolve, namespace, value}
	if e, age, ok := c.lookup(k); ok {
		r := e.resolution
		r.Age = age
		return r, nil
	}
	e := c.newEntry()
	r, err := c.registry.Resolve(ctx, namespace, value)
	if err != nil {
		return r, err
	}
	e.resolution = r
	e.asOf -= int64(r.Age) // the server has a cache, too
	// A name that leads nowhere may later lead somewhere by another spelling or under another
	// key, and dates pass without an event: so such entries are not lasting.
	leads := r.Outcome == dibs.ResolveActive || r.Outcome == dibs.ResolveMoved
	e.lasting = leads && r.Until.IsZero() && c.seesPolicies.Load()
	e.dependsOn = [2]uint32{slotOf(dibs.NameID(namespace, r.Canonical)), slotOf(dibs.EntityID(dibs.ScopeOf(namespace), r.Entity))}
	c.store(k, e)
	return r, nil
}
