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

// Check reports whether values can be reserved, or could be at most MaxStale ago. A name
// that is available here may be taken: only Reserve decides. Requests with an entity or with
// suggestions go to the registry.
func (c *Cache) Check(ctx context.Context, request dibs.CheckRequest) ([]dibs.Availability, error) {
	if !request.Entity.IsZero() || request.Suggest > 0 || len(request.Values) == 0 {
		return c.registry.Check(ctx, request)
	}
	answers := make([]dibs.Availability, len(request.Values))
	var missing []string
	var indexes []int // of the missing values
	for i, value := range request.Values {
		if e, _, ok := c.lookup(key{kindCheck, request.Namespace, value}); ok {
			answers[i] = e.availability
		} else {
			missing, indexes = append(missing, value), append(indexes, i)
		}
	}
	if len(missing) == 0 {
		return answers, nil
	}
	blank := *c.newEntry()
	request.Values = missing
	found, err := c.registry.Check(ctx, request)
	if err != nil {
		return nil, err
	}
	for i, availability := range found {
		answers[indexes[i]] = availability
		e := blank
		e.availability = availability
		// Look-alikes and dates change availability without an event of the name itself: so
		// no such entry is lasting.
		name := slotOf(dibs.NameID(request.Namespace, availability.Canonical))
		e.dependsOn = [2]uint32{name, name}
		c.store(key{kindCheck, request.Namespace, missing[i]}, &e)
	}
	return answers, nil
}
