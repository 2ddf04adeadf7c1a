package dibscache

import (
	"context"

	"github.com/calldibs/dibs"
)

// Check says whether values could be reserved, or could be no longer than MaxStale ago.
// A name that is free here may be taken: only Reserve decides. Questions for an entity of
// its own, or with suggestions, go to the registry.
func (c *Cache) Check(ctx context.Context, request dibs.CheckRequest) ([]dibs.Availability, error) {
	if !request.Entity.IsZero() || request.Suggest > 0 || len(request.Values) == 0 {
		return c.registry.Check(ctx, request)
	}
	answers := make([]dibs.Availability, len(request.Values))
	var unknown []string
	var places []int
	for i, value := range request.Values {
		if a, _, ok := c.find(question{checks, request.Namespace, value}); ok {
			answers[i] = a.availability
		} else {
			unknown, places = append(unknown, value), append(places, i)
		}
	}
	if len(unknown) == 0 {
		return answers, nil
	}
	asked := *c.begin()
	request.Values = unknown
	found, err := c.registry.Check(ctx, request)
	if err != nil {
		return nil, err
	}
	for i, availability := range found {
		answers[places[i]] = availability
		a := asked
		a.availability = availability
		// Look-alikes and dates make names free and taken without an event of theirs: no
		// such answer lasts.
		name := markOf(dibs.NameID(request.Namespace, availability.Canonical))
		a.rests = [2]uint32{name, name}
		c.keep(question{checks, request.Namespace, unknown[i]}, &a)
	}
	return answers, nil
}
