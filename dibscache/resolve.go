package dibscache

import (
	"context"

	"github.com/calldibs/dibs"
)

// Resolve says where a name leads, or where it led no longer than MaxStale ago: its
// [dibs.Resolution.Age] says how long. What it leads to is shared with others, and must not
// be changed.
func (c *Cache) Resolve(ctx context.Context, namespace, value string) (dibs.Resolution, error) {
	q := question{resolves, namespace, value}
	if a, age, ok := c.find(q); ok {
		r := a.resolution
		r.Age = age
		return r, nil
	}
	a := c.begin()
	r, err := c.registry.Resolve(ctx, namespace, value)
	if err != nil {
		return r, err
	}
	a.resolution = r
	a.asked -= int64(r.Age) // a server has a cache, too
	// A name that leads nowhere may come to do so by another spelling, or under another
	// key; and dates come without an event. So both are asked for again in time.
	leads := r.Outcome == dibs.ResolveActive || r.Outcome == dibs.ResolveMoved
	a.lasting = leads && r.Until.IsZero() && c.knows.Load()
	a.rests = [2]uint32{markOf(dibs.NameID(namespace, r.Canonical)), markOf(dibs.EntityID(dibs.ScopeOf(namespace), r.Entity))}
	c.keep(q, a)
	return r, nil
}
