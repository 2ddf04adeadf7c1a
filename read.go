package dibs

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	listPage = 100
	maxPage  = 1000
	maxOwned = 10_000 // names of one entity that are shown

	// maxRereads is how often something is read again because it has changed meanwhile.
	maxRereads = 20
)

// Get returns one name.
func (c *core) Get(ctx context.Context, lookup Lookup) (Name, error) {
	question, err := c.rules().lookUp(lookup)
	if err != nil {
		return Name{}, err
	}
	return ask(ctx, c, question)
}

// Resolve says where a name leads.
func (c *core) Resolve(ctx context.Context, namespace, value string) (Resolution, error) {
	question, err := c.rules().resolve(namespace, value)
	switch {
	case err == nil:
		return ask(ctx, c, question)
	case err.Code == CodeInvalidValue: // no name has this value
		return Resolution{Outcome: ResolveNotFound, Status: 404}, nil
	default:
		return Resolution{}, err
	}
}

// Entity returns an entity with its names. The two are read one after the other; if
// the entity has changed in between, both are read again.
func (c *core) Entity(ctx context.Context, scope string, entity Entity) (EntityInfo, error) {
	question, invalid := c.rules().findEntity(scope, entity)
	if invalid != nil {
		return EntityInfo{}, invalid
	}
	before, err := askAlone(ctx, c, question)
	for range maxRereads {
		if err != nil {
			return EntityInfo{}, err
		}
		records, fail := c.store.Owned(ctx, scope, entity, maxOwned)
		if fail != nil {
			return EntityInfo{}, fail
		}
		after, fail := askAlone(ctx, c, question)
		if fail == nil && after.Rev == before.Rev {
			return c.entityInfo(ctx, after, records)
		}
		before, err = after, fail
	}
	return EntityInfo{}, Unavailable(errContended)
}

func (c *core) entityInfo(ctx context.Context, e entityAt, records []*NameRecord) (EntityInfo, error) {
	info := EntityInfo{
		Entity: e.Entity, Scope: e.Scope, Archived: e.Archived, Version: e.Rev, More: len(records) == maxOwned,
	}
	names, err := c.standing(ctx, records, e.now)
	if err != nil {
		return EntityInfo{}, err
	}
	for _, n := range names {
		if n != nil && (n.State == Active || n.State == Alias) {
			info.Names = append(info.Names, *n)
		}
	}
	return info, nil
}

// standing returns names as they stand now, in the order of their records. Names that have
// changed by time alone are read again once no commit can forestall that; nil stands for a
// name that is gone by then.
func (c *core) standing(ctx context.Context, records []*NameRecord, now Instant) ([]*Name, error) {
	names := make([]*Name, len(records))
	var (
		open []int
		refs []Ref
	)
	for i, r := range records {
		n := standAt(r, now)
		names[i] = &n.Name
		if end, rests := n.pastEnd(); rests && !c.ends.isFinal(end) {
			open, refs = append(open, i), append(refs, r.Ref())
		}
	}
	if len(open) == 0 {
		return names, nil
	}
	again, err := askAlone(ctx, c, c.rules().readNames(refs))
	for k, name := range again {
		names[open[k]] = name
	}
	return names, err
}

// List returns a page of names. A name that has changed by time alone is listed as it is by
// now, swept or not.
func (c *core) List(ctx context.Context, query NamesQuery) (NamesPage, error) {
	list, err := engineQuery(query)
	if err != nil {
		return NamesPage{}, err
	}
	limit := pageSize(query.Limit)
	now, fail := c.engineNow(ctx)
	if fail != nil {
		return NamesPage{}, fail
	}
	var page NamesPage
	for {
		records, err := c.listNames(ctx, list)
		if err != nil {
			return NamesPage{}, err
		}
		names, err := c.standing(ctx, records, now)
		if err != nil {
			return NamesPage{}, err
		}
		for i, r := range records {
			if len(page.Names) == limit {
				page.Next = encodePosition(*list.After)
				return page, nil
			}
			list.After = &ListPosition{Namespace: r.Namespace, Label: r.Canonical}
			if n := names[i]; n != nil && (n.State == query.State || (query.State == "" && n.State != Free)) {
				page.Names = append(page.Names, *n)
			}
		}
		if len(records) < list.Limit {
			return page, nil
		}
	}
}

// listNames lists names as the engine has them.
func (c *core) listNames(ctx context.Context, query ListQuery) ([]*NameRecord, error) {
	records, err := c.store.List(ctx, query)
	if err != nil {
		return nil, err
	}
	names := make([]*NameRecord, 0, len(records))
	for _, r := range records {
		if n, ok := r.(*NameRecord); ok {
			names = append(names, n)
		}
	}
	return names, nil
}

// engineQuery turns a query into one for the engine. A row may be in another state there
// than it is by now, so it selects every state that can have become the wanted one.
func engineQuery(q NamesQuery) (ListQuery, error) {
	list := ListQuery{Kind: KindName, Namespace: q.Namespace, Limit: pageSize(q.Limit)}
	if q.Namespace != "" {
		if err := checkNamespace(q.Namespace); err != nil {
			return list, err
		}
	}
	switch q.State {
	case "":
		list.States = []State{Held, Suspect, Active, Alias, Quarantined}
	case Held, Active, Alias:
		list.States = []State{q.State}
	case Suspect:
		list.States = []State{Suspect, Held}
	case Quarantined:
		list.States = []State{Quarantined, Held, Alias}
	case Free:
		list.States = []State{Free, Held, Alias, Quarantined}
	default:
		return list, &Error{Code: CodeInvalidValue, Message: fmt.Sprintf("there is no state %.80q: use held, suspect, active, alias, quarantined or free", q.State)}
	}
	if !utf8.ValidString(q.Prefix) {
		return list, &Error{Code: CodeInvalidValue, Message: "the prefix is not valid UTF-8"}
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

func encodePosition(p ListPosition) string {
	return base64.RawURLEncoding.EncodeToString([]byte(p.Namespace + ":" + p.Label))
}

func decodePosition(cursor string) (ListPosition, error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	namespace, label, ok := strings.Cut(string(text), ":")
	if err != nil || !ok || !utf8.Valid(text) {
		return ListPosition{}, ErrBadCursor
	}
	return ListPosition{Namespace: namespace, Label: label}, nil
}
