package server

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/limit"
	"github.com/calldibs/dibs/internal/wire"
)

const tagNames = "Names"

func (s *Server) names() {
	operation := func(method, path, id, summary string, errors ...int) huma.Operation {
		return s.operation(method, "/v1"+path, id, summary, tagNames, errors...)
	}
	claim := operation(http.MethodPost, "/claims", "claim", "Take a free name for an entity at once", 409, 422)
	claim.DefaultStatus = http.StatusCreated
	huma.Register(s.api, claim, s.claim)
	huma.Register(s.api, operation(http.MethodGet, "/names", "listNames", "List names", 422), s.listNames)
	huma.Register(s.api, operation(http.MethodGet, "/names/{namespace}/{value}", "getName", "Show a name", 404, 422), s.getName)
	huma.Register(s.api, operation(http.MethodPost, "/names/lookup", "lookUpName", "Show a name whose value does not belong in a URL", 404, 422), s.lookUp)
	huma.Register(s.api, operation(http.MethodGet, "/names/{namespace}/{value}/history", "getHistory", "Show what happened to a name, or who held it at a moment", 422), s.getHistory)
	huma.Register(s.api, operation(http.MethodPost, "/names/history", "lookUpHistory", "The same for a value that does not belong in a URL", 422), s.lookUpHistory)
	huma.Register(s.api, operation(http.MethodPost, "/names/{namespace}/{value}/decommission", "decommission", "Give up one name of an entity", 404, 422), s.decommission)
	huma.Register(s.api, operation(http.MethodPost, "/names/{namespace}/{value}/transfer", "transfer", "Give one name of an entity to another", 404, 409, 422), s.transfer)
	huma.Register(s.api, operation(http.MethodPost, "/swap", "swap", "Let two entities exchange names", 409, 422), s.swap)
	huma.Register(s.api, operation(http.MethodGet, "/check/{namespace}/{value}", "checkName", "Ask whether a name could be reserved", 422), s.checkName)
	huma.Register(s.api, operation(http.MethodPost, "/check", "checkNames", "Ask whether names could be reserved", 422), s.checkNames)
}

type claimInput struct {
	Body struct {
		Namespace        string            `json:"namespace" example:"slug"`
		Value            string            `json:"value" example:"Alice & Bob"`
		Entity           wire.Entity       `json:"entity"`
		CorrelationID    string            `json:"correlationId,omitempty"`
		Meta             map[string]string `json:"meta,omitempty"`
		Field            string            `json:"field,omitempty"`
		OverrideReserved bool              `json:"overrideReserved,omitempty"`
	}
}

func (s *Server) claim(ctx context.Context, in *claimInput) (*answer[wire.Name], error) {
	b := in.Body
	if err := s.may(ctx, access.Claim, b.Namespace); err != nil {
		return nil, err
	}
	name, err := s.one(ctx, dibs.Claim{
		Namespace: b.Namespace, Value: b.Value, Entity: b.Entity.Entity(), CorrelationID: b.CorrelationID,
		Meta: b.Meta, Field: b.Field, OverrideReserved: b.OverrideReserved,
	})
	if err != nil {
		return nil, err
	}
	return made(name.Body, name.Body.Replayed), nil
}

// ByName is a name in a path. It is exported because the API library fills in no other
// embedded fields; the same goes for its like.
type ByName struct {
	Namespace string `path:"namespace" example:"slug"`
	Value     string `path:"value" doc:"Percent-encoded, and taken through the namespace's profile." example:"alice-bob"`
}

// Addressed is a name in a body.
type Addressed struct {
	Namespace string `json:"namespace" example:"email"`
	Value     string `json:"value" example:"alice@example.com"`
}

// mayInURL refuses a verb in a namespace that the caller has no right to, and then a value in
// a URL where values are kept from being seen: URLs end up in logs. The right comes first, so
// that a caller does not learn how the namespaces of others keep their values.
func (s *Server) mayInURL(ctx context.Context, verb access.Verb, namespace, instead string) error {
	if err := s.may(ctx, verb, namespace); err != nil {
		return err
	}
	policy, err := s.cfg.Registry.Policy(namespace)
	if err == nil && len(policy.Blind) > 0 {
		return newProblem(http.StatusUnprocessableEntity, "VALUE_IN_URL",
			fmt.Sprintf("values of %s are not to be seen, and do not belong in a URL: use POST %s", namespace, instead))
	}
	return nil
}

func (s *Server) getName(ctx context.Context, in *ByName) (*answer[wire.Name], error) {
	if err := s.mayInURL(ctx, access.Get, in.Namespace, "/v1/names/lookup"); err != nil {
		return nil, err
	}
	return s.findName(ctx, in.Namespace, in.Value)
}

func (s *Server) lookUp(ctx context.Context, in *struct{ Body Addressed }) (*answer[wire.Name], error) {
	return s.findName(ctx, in.Body.Namespace, in.Body.Value)
}

func (s *Server) findName(ctx context.Context, namespace, value string) (*answer[wire.Name], error) {
	if err := s.may(ctx, access.Get, namespace); err != nil {
		return nil, err
	}
	return s.showName(ctx, dibs.Lookup{Namespace: namespace, Value: value, Version: true})
}

type listInput struct {
	Namespace string `query:"namespace" doc:"Left out, all of them."`
	State     string `query:"state" doc:"free, held, suspect, active, alias or quarantined; left out, all that are not free."`
	Prefix    string `query:"prefix" doc:"Of the canonical form."`
	Limit     int    `query:"limit" minimum:"0" maximum:"1000" doc:"100 where it is left out."`
	Cursor    string `query:"cursor" doc:"nextCursor of the page before."`
}

func (s *Server) listNames(ctx context.Context, in *listInput) (*answer[wire.NamesPage], error) {
	if err := s.may(ctx, access.List, in.Namespace); err != nil {
		return nil, err
	}
	if p := s.chargePage(visitOf(ctx), in.Limit); p != nil {
		return nil, p
	}
	page, err := s.registry(ctx).List(ctx, dibs.NamesQuery{
		Namespace: in.Namespace, State: dibs.State(in.State), Prefix: in.Prefix, Limit: in.Limit, Cursor: in.Cursor,
	})
	if err != nil {
		return nil, s.problemOf(err)
	}
	return ok(wire.NamesPage{Names: wire.NamesOf(page.Names), NextCursor: page.Next}), nil
}

// history is the events of a name, or who had it at a moment.
type history struct {
	Events     []wire.Event `json:"events,omitzero" doc:"The newest ones, or those before another page; oldest first."`
	NextCursor string       `json:"nextCursor,omitempty" doc:"Of the page with older events; left out where there is none."`
	Holder     *wire.Holder `json:"holder,omitempty" doc:"With a moment: who had it then."`
}

type historyInput struct {
	ByName
	At     time.Time `query:"at" doc:"A moment, for who held the name then."`
	Limit  int       `query:"limit" minimum:"0" maximum:"1000" doc:"1,000 where it is left out."`
	Cursor string    `query:"cursor" doc:"nextCursor of the page with newer events."`
}

func (s *Server) getHistory(ctx context.Context, in *historyInput) (*answer[history], error) {
	if err := s.mayInURL(ctx, access.History, in.Namespace, "/v1/names/history"); err != nil {
		return nil, err
	}
	return s.findHistory(ctx, dibs.HistoryQuery{Namespace: in.Namespace, Value: in.Value, Limit: in.Limit, Cursor: in.Cursor}, in.At)
}

type lookUpHistoryInput struct {
	Body struct {
		Addressed
		At     time.Time `json:"at,omitzero" doc:"A moment, for who held the name then."`
		Limit  int       `json:"limit,omitempty" minimum:"0" maximum:"1000" doc:"1,000 where it is left out."`
		Cursor string    `json:"cursor,omitempty" doc:"nextCursor of the page with newer events."`
	}
}

func (s *Server) lookUpHistory(ctx context.Context, in *lookUpHistoryInput) (*answer[history], error) {
	b := in.Body
	return s.findHistory(ctx, dibs.HistoryQuery{Namespace: b.Namespace, Value: b.Value, Limit: b.Limit, Cursor: b.Cursor}, b.At)
}

// longestHistory is how many events of a name an answer has at the most, where the request
// does not say.
const longestHistory = 1000

func (s *Server) findHistory(ctx context.Context, query dibs.HistoryQuery, at time.Time) (*answer[history], error) {
	if err := s.may(ctx, access.History, query.Namespace); err != nil {
		return nil, err
	}
	size := query.Limit
	if size == 0 || !at.IsZero() {
		size = longestHistory
	}
	if p := s.chargePage(visitOf(ctx), size); p != nil {
		return nil, p
	}
	if !at.IsZero() {
		h, err := s.registry(ctx).WhoHeld(ctx, query.Namespace, query.Value, at)
		if err != nil {
			return nil, s.problemOf(err)
		}
		holder := wire.HolderOf(h)
		return ok(history{Holder: &holder}), nil
	}
	page, err := s.registry(ctx).HistoryPage(ctx, query)
	if err != nil {
		return nil, s.problemOf(err)
	}
	return ok(history{Events: wire.EventsOf(page.Events), NextCursor: page.Next}), nil
}

type decommissionInput struct {
	ByName
	Body struct {
		Entity wire.Entity `json:"entity"`
	}
}

func (s *Server) decommission(ctx context.Context, in *decommissionInput) (*answer[wire.Name], error) {
	if err := s.mayInURL(ctx, access.Decommission, in.Namespace, "/v1/apply"); err != nil {
		return nil, err
	}
	return s.one(ctx, dibs.Decommission{Namespace: in.Namespace, Value: in.Value, Entity: in.Body.Entity.Entity()})
}

type transferInput struct {
	ByName
	Body struct {
		From wire.Entity `json:"from"`
		To   wire.Entity `json:"to"`
	}
}

func (s *Server) transfer(ctx context.Context, in *transferInput) (*answer[wire.Name], error) {
	if err := s.mayInURL(ctx, access.Transfer, in.Namespace, "/v1/apply"); err != nil {
		return nil, err
	}
	return s.one(ctx, dibs.Transfer{Namespace: in.Namespace, Value: in.Value, From: in.Body.From.Entity(), To: in.Body.To.Entity()})
}

type swapInput struct {
	Body struct {
		Namespace string     `json:"namespace"`
		A         wire.Named `json:"a" doc:"As it is before."`
		B         wire.Named `json:"b" doc:"As it is before."`
	}
}

func (s *Server) swap(ctx context.Context, in *swapInput) (*answer[wire.Result], error) {
	if err := s.may(ctx, access.Swap, in.Body.Namespace); err != nil {
		return nil, err
	}
	result, err := s.registry(ctx).Swap(ctx, dibs.Swap{Namespace: in.Body.Namespace, A: in.Body.A.Named(), B: in.Body.B.Named()})
	if err != nil {
		return nil, s.problemOf(err)
	}
	return ok(wire.ResultOf(result)), nil
}

type checkInput struct {
	ByName
	Suggest int `query:"suggest" minimum:"0" maximum:"10" doc:"How many free names to offer."`
}

// oneAvailability is one result, by itself and as a list of one.
type oneAvailability struct {
	wire.Availability
	Results []wire.Availability `json:"results" nullable:"false"`
}

func (s *Server) checkName(ctx context.Context, in *checkInput) (*answer[oneAvailability], error) {
	if err := s.mayInURL(ctx, access.Check, in.Namespace, "/v1/check"); err != nil {
		return nil, err
	}
	all, err := s.check(ctx, dibs.CheckRequest{Namespace: in.Namespace, Values: []string{in.Value}, Suggest: in.Suggest})
	if err != nil {
		return nil, err
	}
	return ok(oneAvailability{all.Body.Results[0], all.Body.Results}), nil
}

type checkNamesInput struct {
	Body struct {
		Namespace string       `json:"namespace"`
		Values    []string     `json:"values" nullable:"false" doc:"At most 100."`
		Entity    *wire.Entity `json:"entity,omitempty" doc:"Who would own it: its own quarantine does not keep it out."`
		Suggest   int          `json:"suggest,omitempty" minimum:"0" maximum:"10" doc:"How many free names to offer for each that is not available."`
		Parts     []string     `json:"parts,omitempty" doc:"What they may be made from: a surname, a city, a year."`
	}
}

type availabilities struct {
	Results []wire.Availability `json:"results" nullable:"false"`
}

// few is how many values may be asked about without the right to ask in bulk.
const few = 10

func (s *Server) checkNames(ctx context.Context, in *checkNamesInput) (*answer[availabilities], error) {
	b := in.Body
	if len(b.Values) > few {
		if err := s.may(ctx, access.Bulk, b.Namespace); err != nil {
			return nil, err
		}
	}
	return s.check(ctx, dibs.CheckRequest{
		Namespace: b.Namespace, Values: b.Values, Entity: b.Entity.Entity(), Suggest: b.Suggest, Parts: b.Parts,
	})
}

func (s *Server) check(ctx context.Context, request dibs.CheckRequest) (*answer[availabilities], error) {
	if err := s.may(ctx, access.Check, request.Namespace); err != nil {
		return nil, err
	}
	if p := s.chargeMore(ctx, min(len(request.Values), limit.LeastChecks)-1); p != nil {
		return nil, p
	}
	list, err := s.reader(ctx).Check(ctx, request)
	if err != nil {
		return nil, s.problemOf(err)
	}
	body := availabilities{make([]wire.Availability, len(list))}
	for i, a := range list {
		body.Results[i] = wire.AvailabilityOf(a)
	}
	return ok(body), nil
}
