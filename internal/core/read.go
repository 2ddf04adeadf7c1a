package core

import (
	"context"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

// maxOwned is how many names of an entity are shown.
const maxOwned = 10_000

func (c *core) Check(ctx context.Context, req dibs.CheckRequest) ([]dibs.Availability, error) {
	question, invalid := c.rules().Check(req)
	if invalid != nil {
		return nil, invalid
	}
	answers, err := ask(ctx, c, question)
	if err != nil {
		return nil, err
	}
	return answers, c.suggestAnswers(ctx, req, answers)
}

func (c *core) Get(ctx context.Context, lookup dibs.Lookup) (dibs.Name, error) {
	question, err := c.rules().LookUp(lookup)
	if err != nil {
		return dibs.Name{}, err
	}
	return ask(ctx, c, question)
}

// nameQuery asks about a name.
type nameQuery struct{ namespace, value string }

func (c *core) Resolve(ctx context.Context, q nameQuery) (dibs.Resolution, error) {
	question, err := c.rules().Resolve(q.namespace, q.value)
	switch {
	case err == nil:
		return ask(ctx, c, question)
	case err.Code == dibs.CodeInvalidValue: // no name has this value
		return dibs.Resolution{Outcome: dibs.ResolveNotFound, Status: 404}, nil
	default:
		return dibs.Resolution{}, err
	}
}

// Entity returns an entity with its names. It reads the entity, then the names, and both again
// if the entity changed in between.
func (c *core) Entity(ctx context.Context, q rules.Person) (dibs.EntityInfo, error) {
	question, invalid := c.rules().FindEntity(q.Scope, q.Entity)
	if invalid != nil {
		return dibs.EntityInfo{}, invalid
	}
	var records []*dibs.NameRecord
	found, err := askUnchanged(ctx, c, question, func(e rules.EntityAsOf) uint64 { return e.Rev }, func(rules.EntityAsOf) (err error) {
		records, err = c.store.Owned(ctx, q.Scope, q.Entity, maxOwned)
		return err
	})
	if err != nil {
		return dibs.EntityInfo{}, err
	}
	names, err := c.namesAsOf(ctx, records, found.Now)
	if err != nil {
		return dibs.EntityInfo{}, err
	}
	info := dibs.EntityInfo{
		Entity: found.Entity, Scope: found.Scope, Archived: found.Archived, Version: found.Rev, More: len(records) == maxOwned,
	}
	for _, n := range names {
		if n != nil && (n.State == dibs.Active || n.State == dibs.Alias) {
			info.Names = append(info.Names, *n)
		}
	}
	return info, nil
}

// namesAsOf returns the names of records in their present state, in the same order. It reads
// names that have changed by time alone again, once that end is final. A nil name is gone by
// then.
func (c *core) namesAsOf(ctx context.Context, records []*dibs.NameRecord, now dibs.Instant) ([]*dibs.Name, error) {
	names := make([]*dibs.Name, len(records))
	var (
		open []int
		refs []dibs.Ref
	)
	for i, r := range records {
		name, end := rules.ShowAsOf(r, now)
		names[i] = &name
		if end.At != 0 && !c.ends.isFinal(end) {
			open, refs = append(open, i), append(refs, r.Ref())
		}
	}
	if len(open) == 0 {
		return names, nil
	}
	again, err := askAlone(ctx, c, c.rules().ReadNames(refs))
	for k, name := range again {
		names[open[k]] = name
	}
	return names, err
}
