package dibs

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"
)

const (
	listPage = 100
	maxPage  = 1000
	maxOwned = 10_000 // names of one entity that are shown

	// maxRereads is how often something is read again because it has changed meanwhile.
	maxRereads = 20

	maxChecks = 100
)

// read answers a question from one consistent moment of the engine. It is a
// decision that changes nothing; p knows what it will look at. See [ask] for questions
// that many ask.
func (c *core) read(ctx context.Context, p *preparer, question func(v *view)) error {
	return c.answerAlone(ctx, newQuestion(p, question))
}

// Get returns one name.
func (c *core) Get(ctx context.Context, lookup Lookup) (Name, error) {
	p := c.preparer(Principal{})
	what := lookup.ID.String()
	find := func(v *view) *draft { return v.followVisible(lookup.ID, lookup.visible) }
	if lookup.ID.IsZero() {
		s, err := p.address(lookup.Namespace, lookup.Value, "")
		if err != nil {
			return Name{}, err
		}
		what = "of " + s.key()
		find = func(v *view) *draft { return v.lookUp(s) }
	} else {
		p.want(Ref{Kind: KindName, ID: lookup.ID})
	}
	name, err := ask(ctx, c, p, func(v *view) *Name {
		d := find(v)
		if d == nil {
			return nil
		}
		name := v.show(d)
		if !lookup.Shows(name) {
			return nil // before the entity is read, see followVisible
		}
		if lookup.Version && (d.State == Active || d.State == Alias) {
			name.Version = v.entity(d.Scope, d.Owner).Rev
		}
		return &name
	})
	if err != nil {
		return Name{}, err
	}
	if name == nil {
		return Name{}, &Error{Code: CodeNotFound, Message: "there is no reservation " + what}
	}
	return *name, nil
}

// Resolve says where a name leads.
func (c *core) Resolve(ctx context.Context, namespace, value string) (Resolution, error) {
	p := c.preparer(Principal{})
	s, invalid := p.address(namespace, value, "")
	if invalid != nil {
		if invalid.Code == CodeInvalidValue { // nobody can have it
			return Resolution{Outcome: ResolveNotFound, Status: http.StatusNotFound}, nil
		}
		return Resolution{}, invalid
	}
	return ask(ctx, c, p, func(v *view) Resolution { return resolve(v, s) })
}

// resolve follows a name to its entity, and an alias on to the entity's active
// name: one hop, so there are no chains and no loops.
func resolve(v *view, s *subject) Resolution {
	d := v.name(s)
	answer := Resolution{Outcome: ResolveNotFound, Canonical: s.canonical, Status: http.StatusNotFound}
	if d.State == Alias || d.State == Quarantined {
		answer.Until = d.Until.Time()
	}
	gone := answer
	gone.Outcome, gone.Status = ResolveGone, http.StatusGone
	switch d.State {
	case Active, Alias:
	case Quarantined:
		return gone
	default:
		return answer
	}
	e := v.entity(d.Scope, d.Owner)
	switch {
	case e.Deleted: // its names are about to follow
		return gone
	case e.Archived && s.policy.ArchivedStatus == http.StatusGone:
		return gone
	case e.Archived:
		return answer
	}
	answer.Entity = d.Owner
	if d.State == Active {
		answer.Outcome, answer.Status = ResolveActive, http.StatusOK
		return answer
	}
	id, has := e.Active[d.slot()]
	if !has {
		// The policy may have changed to or from many names since: then there is one
		// name that the alias can mean, or none.
		active := e.activeIn(d.Namespace)
		if len(active) != 1 || d.Terms.Many == s.policy.ManyPerEntity {
			return gone
		}
		id = active[0]
	}
	active := v.nameByID(id, d.Scope)
	if active == nil {
		return gone
	}
	to := v.show(active)
	answer.Outcome, answer.Status, answer.To = ResolveMoved, s.policy.RedirectStatus, &to
	return answer
}

// Entity returns an entity with its names. The two are read one after the other; if
// the entity has changed in between, both are read again.
func (c *core) Entity(ctx context.Context, scope string, entity Entity) (EntityInfo, error) {
	before, _, err := c.readEntity(ctx, scope, entity)
	for range maxRereads {
		if err != nil {
			return EntityInfo{}, err
		}
		records, fail := c.store.Owned(ctx, scope, entity, maxOwned)
		if fail != nil {
			return EntityInfo{}, fail
		}
		after, now, fail := c.readEntity(ctx, scope, entity)
		if fail == nil && after.Rev == before.Rev {
			return c.entityInfo(ctx, after, records, now)
		}
		before, err = after, fail
	}
	return EntityInfo{}, Unavailable(errContended)
}

func (c *core) readEntity(ctx context.Context, scope string, entity Entity) (e entityDraft, now Instant, err error) {
	p := c.preparer(Principal{})
	if err := p.prepareEntity(scope, entity); err != nil {
		return e, 0, err
	}
	var unknown *Error
	err = c.read(ctx, p, func(v *view) {
		e, unknown = v.existingEntity(scope, entity)
		now = v.now
	})
	if err == nil && unknown != nil {
		err = unknown
	}
	return e, now, err
}

func (c *core) entityInfo(ctx context.Context, e entityDraft, records []*NameRecord, now Instant) (EntityInfo, error) {
	info := EntityInfo{
		Entity: e.Entity, Scope: e.Scope, Archived: e.Archived, Version: e.Rev, More: len(records) == maxOwned,
	}
	names, err := c.standing(ctx, records, now)
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

// standing returns names as they stand now, in the order of their records. What is over by
// time alone is read again, once nothing can forestall its end; nil is what is gone by then.
func (c *core) standing(ctx context.Context, records []*NameRecord, now Instant) ([]*Name, error) {
	names := make([]*Name, len(records))
	var open []int
	p := c.preparer(Principal{})
	for i, r := range records {
		d := draftAt(r, now)
		name := nameOf(&d.NameRecord, now)
		names[i] = &name
		if at := d.lapsedAt(); at != 0 && !c.ends.isSettled(pastEnd{r.Ref(), r.Rev, at}) {
			open = append(open, i)
			p.want(r.Ref())
		}
	}
	if len(open) == 0 {
		return names, nil
	}
	err := c.read(ctx, p, func(v *view) {
		for _, i := range open {
			names[i] = nil
			if d := v.nameByID(records[i].ID, records[i].Scope); d != nil {
				name := v.show(d)
				names[i] = &name
			}
		}
	})
	return names, err
}

// draftAt returns a record as it stands at a moment.
func draftAt(r *NameRecord, now Instant) *draft {
	d := &draft{NameRecord: *r, before: snapshotOf(r)}
	d.lapse(now)
	return d
}

// List returns a page of names. What has lapsed is listed as what it is by now,
// swept or not.
func (c *core) List(ctx context.Context, query NamesQuery) (NamesPage, error) {
	list, err := query.list()
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

// list turns the query into one for the engine. Rows may be in another state there
// than they are by now, so it asks for every state that can have become the
// wanted one.
func (q NamesQuery) list() (ListQuery, error) {
	list := ListQuery{Kind: KindName, Namespace: q.Namespace, Limit: pageSize(q.Limit)}
	if q.Namespace != "" {
		if _, _, err := splitNamespace(q.Namespace); err != nil {
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
		return list, &Error{Code: CodeInvalidValue, Message: fmt.Sprintf("there is no state %s: use held, suspect, active, alias, quarantined or free", quote(string(q.State)))}
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
