package core

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

const (
	listPage = 100
	maxPage  = 1000
	maxOwned = 10_000 // names of one entity that are shown

	// maxRereads is how often something is read again because it has changed meanwhile.
	maxRereads = 20
)

// Get returns one name.
func (c *core) Get(ctx context.Context, lookup dibs.Lookup) (dibs.Name, error) {
	question, err := c.rules().LookUp(lookup)
	if err != nil {
		return dibs.Name{}, err
	}
	return ask(ctx, c, question)
}

// Resolve says where a name leads.
func (c *core) Resolve(ctx context.Context, namespace, value string) (dibs.Resolution, error) {
	question, err := c.rules().Resolve(namespace, value)
	switch {
	case err == nil:
		return ask(ctx, c, question)
	case err.Code == dibs.CodeInvalidValue: // no name has this value
		return dibs.Resolution{Outcome: dibs.ResolveNotFound, Status: 404}, nil
	default:
		return dibs.Resolution{}, err
	}
}

// Entity returns an entity with its names. The two are read one after the other; if
// the entity has changed in between, both are read again.
func (c *core) Entity(ctx context.Context, scope string, entity dibs.Entity) (dibs.EntityInfo, error) {
	question, invalid := c.rules().FindEntity(scope, entity)
	if invalid != nil {
		return dibs.EntityInfo{}, invalid
	}
	before, err := askAlone(ctx, c, question)
	for range maxRereads {
		if err != nil {
			return dibs.EntityInfo{}, err
		}
		records, fail := c.store.Owned(ctx, scope, entity, maxOwned)
		if fail != nil {
			return dibs.EntityInfo{}, fail
		}
		after, fail := askAlone(ctx, c, question)
		if fail == nil && after.Rev == before.Rev {
			return c.entityInfo(ctx, after, records)
		}
		before, err = after, fail
	}
	return dibs.EntityInfo{}, dibs.Unavailable(errContended)
}

func (c *core) entityInfo(ctx context.Context, e rules.EntityAsOf, records []*dibs.NameRecord) (dibs.EntityInfo, error) {
	info := dibs.EntityInfo{
		Entity: e.Entity, Scope: e.Scope, Archived: e.Archived, Version: e.Rev, More: len(records) == maxOwned,
	}
	names, err := c.standing(ctx, records, e.Now)
	if err != nil {
		return dibs.EntityInfo{}, err
	}
	for _, n := range names {
		if n != nil && (n.State == dibs.Active || n.State == dibs.Alias) {
			info.Names = append(info.Names, *n)
		}
	}
	return info, nil
}

// standing returns names as they stand now, in the order of their records. Names that have
// changed by time alone are read again once no commit can forestall that; nil stands for a
// name that is gone by then.
func (c *core) standing(ctx context.Context, records []*dibs.NameRecord, now dibs.Instant) ([]*dibs.Name, error) {
	names := make([]*dibs.Name, len(records))
	var (
		open []int
		refs []dibs.Ref
	)
	for i, r := range records {
		name, end := rules.ShowAsOf(r, now)
		names[i] = &name
		if !end.IsZero() && !c.ends.isFinal(end) {
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

// List returns a page of names. A name that has changed by time alone is listed as it is by
// now, swept or not.
func (c *core) List(ctx context.Context, query dibs.NamesQuery) (dibs.NamesPage, error) {
	list, err := engineQuery(query)
	if err != nil {
		return dibs.NamesPage{}, err
	}
	limit := pageSize(query.Limit)
	now, fail := c.engineNow(ctx)
	if fail != nil {
		return dibs.NamesPage{}, fail
	}
	var page dibs.NamesPage
	for {
		records, err := c.listNames(ctx, list)
		if err != nil {
			return dibs.NamesPage{}, err
		}
		names, err := c.standing(ctx, records, now)
		if err != nil {
			return dibs.NamesPage{}, err
		}
		for i, r := range records {
			if len(page.Names) == limit {
				page.Next = encodePosition(*list.After)
				return page, nil
			}
			list.After = &dibs.ListPosition{Namespace: r.Namespace, Label: r.Canonical}
			if n := names[i]; n != nil && (n.State == query.State || (query.State == "" && n.State != dibs.Free)) {
				page.Names = append(page.Names, *n)
			}
		}
		if len(records) < list.Limit {
			return page, nil
		}
	}
}

// listNames lists names as the engine has them.
func (c *core) listNames(ctx context.Context, query dibs.ListQuery) ([]*dibs.NameRecord, error) {
	records, err := c.store.List(ctx, query)
	if err != nil {
		return nil, err
	}
	names := make([]*dibs.NameRecord, 0, len(records))
	for _, r := range records {
		if n, ok := r.(*dibs.NameRecord); ok {
			names = append(names, n)
		}
	}
	return names, nil
}

// engineQuery turns a query into one for the engine. A row may be in another state there
// than it is by now, so it selects every state that can have become the wanted one.
func engineQuery(q dibs.NamesQuery) (dibs.ListQuery, error) {
	list := dibs.ListQuery{Kind: dibs.KindName, Namespace: q.Namespace, Limit: pageSize(q.Limit)}
	if q.Namespace != "" {
		if err := rules.CheckNamespace(q.Namespace); err != nil {
			return list, err
		}
	}
	switch q.State {
	case "":
		list.States = []dibs.State{dibs.Held, dibs.Suspect, dibs.Active, dibs.Alias, dibs.Quarantined}
	case dibs.Held, dibs.Active, dibs.Alias:
		list.States = []dibs.State{q.State}
	case dibs.Suspect:
		list.States = []dibs.State{dibs.Suspect, dibs.Held}
	case dibs.Quarantined:
		list.States = []dibs.State{dibs.Quarantined, dibs.Held, dibs.Alias}
	case dibs.Free:
		list.States = []dibs.State{dibs.Free, dibs.Held, dibs.Alias, dibs.Quarantined}
	default:
		return list, &dibs.Error{Code: dibs.CodeInvalidValue, Message: fmt.Sprintf("there is no state %.80q: use held, suspect, active, alias, quarantined or free", q.State)}
	}
	if !utf8.ValidString(q.Prefix) {
		return list, &dibs.Error{Code: dibs.CodeInvalidValue, Message: "the prefix is not valid UTF-8"}
	}
	if q.Prefix != "" {
		list.From, list.To = q.Prefix, afterPrefix(q.Prefix)
	}
	if q.Cursor != "" {
		position, err := decodePosition(q.Cursor)
		if err != nil {
			return list, err
		}
		list.After = &position
	}
	return list, nil
}

func pageSize(limit int) int {
	if limit <= 0 {
		return listPage
	}
	return min(limit, maxPage)
}

// afterPrefix returns the first text behind all that begin with the prefix; empty
// where there is none. The order of bytes is that of code points.
func afterPrefix(prefix string) string {
	for prefix != "" {
		last, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		switch last {
		case utf8.MaxRune:
			continue
		case surrogateMin - 1:
			last = surrogateMax
		}
		return prefix + string(last+1)
	}
	return ""
}

// Surrogates are no code points of UTF-8.
const (
	surrogateMin = 0xD800
	surrogateMax = 0xDFFF
)

func encodePosition(p dibs.ListPosition) string {
	return base64.RawURLEncoding.EncodeToString([]byte(p.Namespace + ":" + p.Label))
}

func decodePosition(cursor string) (dibs.ListPosition, error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	namespace, label, ok := strings.Cut(string(text), ":")
	if err != nil || !ok || !utf8.Valid(text) {
		return dibs.ListPosition{}, dibs.ErrBadCursor
	}
	return dibs.ListPosition{Namespace: namespace, Label: label}, nil
}
