package server

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/wire"
)

func (s *Server) registerSearch() {
	op := s.operation(http.MethodPost, "/v1/search", "search", "Find names and entities by what a person types", tagNames, 422)
	op.Description = "The text is a value in any spelling, a key, a reservation id, an entity as type/id, or the beginning of a name. " +
		"Exact matches come first. A caller finds names where it has the right get, and the beginning of names where it has the right list."
	register(s, op, s.search)
}

const (
	maxSearched = 50 // namespaces in which a text is looked up: those with the most names
	maxPrefixes = 4  // canonical forms of the text whose names are listed
	usualFound  = 10
	maxFound    = 50
	// searchCost is what a search counts as, in names of a page.
	searchCost = 10 * pageCost
)

type searchInput struct {
	Body struct {
		Text  string `json:"text" minLength:"1" maxLength:"1100" doc:"What to look for." example:"Alice & Bob"`
		Limit int    `json:"limit,omitempty" minimum:"0" maximum:"50" doc:"How many names. Default: 10."`
	}
}

type found struct {
	Names    []wire.Name       `json:"names" nullable:"false" doc:"Exact matches, then names that begin with the text."`
	Entities []wire.EntityInfo `json:"entities" nullable:"false"`
	More     bool              `json:"more" doc:"There are more names."`
}

func (s *Server) search(ctx context.Context, in *searchInput) (*answer[found], error) {
	if err := s.maySomewhere(ctx, access.Get); err != nil {
		return nil, err
	}
	if p := s.chargePage(infoOf(ctx), searchCost); p != nil {
		return nil, p
	}
	limit := cmp.Or(in.Body.Limit, usualFound)
	q := search{Server: s, registry: s.registry(ctx), caller: callerOf(ctx), text: strings.TrimSpace(in.Body.Text), limit: min(limit, maxFound)}
	if id, err := dibs.ParseID(q.text); err == nil {
		q.get(ctx, dibs.Lookup{ID: id, Visible: infoOf(ctx).canGet})
		return q.answer()
	}
	if err := q.chooseNamespaces(ctx); err != nil {
		return nil, err
	}
	var looking sync.WaitGroup // the registry reads for all of them at once
	for _, namespace := range q.namespaces {
		looking.Go(func() { q.get(ctx, dibs.Lookup{Namespace: namespace, Value: q.text, Version: true}) })
	}
	if namespace, value, isKey := strings.Cut(q.text, ":"); isKey && q.caller.May(access.Get, namespace) {
		looking.Go(func() { q.get(ctx, dibs.Lookup{Namespace: namespace, Value: value, Version: true}) })
		if p, listed := q.prefix(namespace, value); listed {
			q.prefixes = append(q.prefixes, p)
		}
	}
	for _, p := range q.prefixes {
		looking.Go(func() { q.list(ctx, p) })
	}
	for _, scope := range q.scopes() {
		looking.Go(func() { q.entity(ctx, scope) })
	}
	looking.Wait()
	return q.answer()
}

// search is a search in progress.
type search struct {
	*Server
	registry *dibs.Registry
	caller   access.Caller
	text     string
	limit    int

	namespaces []string // in which the text is looked up
	prefixes   []prefix

	mu       sync.Mutex
	exact    []dibs.Name
	similar  []dibs.Name
	entities []dibs.EntityInfo
	more     bool
	failed   error // of the engine
}

// prefix is the beginning of names to list; in all namespaces if it has none.
type prefix struct{ namespace, text string }

// chooseNamespaces chooses the namespaces with the most names in which the caller may look.
func (q *search) chooseNamespaces(ctx context.Context) error {
	counts, _, err := q.stats.get(ctx)
	if err != nil {
		return err
	}
	sizes := make(map[string]int)
	for _, c := range counts.Names {
		if q.caller.May(access.Get, c.Namespace) {
			sizes[c.Namespace] += c.Count
		}
	}
	for namespace := range sizes {
		q.namespaces = append(q.namespaces, namespace)
	}
	slices.SortFunc(q.namespaces, func(a, b string) int { return cmp.Or(cmp.Compare(sizes[b], sizes[a]), cmp.Compare(a, b)) })
	q.namespaces = q.namespaces[:min(len(q.namespaces), maxSearched)]
	everywhere := q.caller.May(access.List, allNamespaces)
	for _, namespace := range q.namespaces {
		p, listed := q.prefix(namespace, q.text)
		if everywhere {
			p.namespace = allNamespaces
		}
		if listed && len(q.prefixes) < maxPrefixes && !slices.Contains(q.prefixes, p) {
			q.prefixes = append(q.prefixes, p)
		}
	}
	return nil
}

// prefix returns the canonical form with which names that begin with a text begin. It reports
// whether the caller may list them; those of a blind namespace begin with nothing of their value.
func (q *search) prefix(namespace, text string) (prefix, bool) {
	policy, err := q.cfg.Registry.Policy(namespace)
	if err != nil || len(policy.Blind) > 0 || !q.caller.May(access.List, namespace) {
		return prefix{}, false
	}
	if canonical, err := policy.Profile.Canonical(text); err == nil {
		return prefix{namespace, canonical}, true
	}
	return prefix{namespace, strings.ToLower(text)}, true // the profile may refuse a text that is not complete
}

// scopes returns the scopes in which the text may name an entity.
func (q *search) scopes() (scopes []string) {
	if _, _, ok := q.named(); !ok {
		return nil
	}
	for _, namespace := range append([]string{""}, q.namespaces...) {
		scope := dibs.ScopeOf(namespace)
		if q.caller.MayInScope(access.Get, scope) && !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	return scopes
}

// named returns the type and the id of the entity that the text names.
func (q *search) named() (kind, id string, ok bool) {
	at := strings.IndexAny(q.text, "/:")
	if at < 1 || at == len(q.text)-1 {
		return "", "", false
	}
	return q.text[:at], q.text[at+1:], true
}

func (q *search) get(ctx context.Context, lookup dibs.Lookup) {
	name, err := q.registry.Get(ctx, lookup)
	q.note(err, func() { q.exact = append(q.exact, name) })
}

func (q *search) list(ctx context.Context, p prefix) {
	page, err := q.registry.List(ctx, dibs.NamesQuery{Namespace: p.namespace, Prefix: p.text, Limit: q.limit})
	q.note(err, func() {
		q.similar = append(q.similar, page.Names...)
		q.more = q.more || page.Next != ""
	})
}

func (q *search) entity(ctx context.Context, scope string) {
	kind, id, _ := q.named()
	info, err := q.registry.Entity(ctx, scope, dibs.Entity{Type: kind, ID: id})
	q.note(err, func() { q.entities = append(q.entities, info) })
}

// note adds what was found. A refusal means that the text is not such a name; only an error of the
// engine fails the search.
func (q *search) note(err error, add func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var refused *dibs.Error
	switch {
	case err == nil:
		add()
	case !errors.As(err, &refused) || errors.Is(err, dibs.ErrUnavailable):
		q.failed = err
	}
}

// answer returns what was found, each name once.
func (q *search) answer() (*answer[found], error) {
	byKey := func(a, b dibs.Name) int { return cmp.Compare(a.Key(), b.Key()) }
	slices.SortFunc(q.exact, byKey)
	slices.SortFunc(q.similar, byKey)
	slices.SortFunc(q.entities, func(a, b dibs.EntityInfo) int { return cmp.Compare(a.Scope, b.Scope) })
	var names []dibs.Name
	seen := make(map[dibs.ID]bool)
	for _, n := range slices.Concat(q.exact, q.similar) {
		if !seen[n.ID] {
			seen[n.ID] = true
			names = append(names, n)
		}
	}
	more := q.more || len(names) > q.limit
	names = names[:min(q.limit, len(names))]
	return ok(found{wire.NamesOf(names), wire.ListOf(q.entities, wire.EntityInfoOf), more}), q.failed
}
