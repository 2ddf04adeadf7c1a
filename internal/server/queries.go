package server

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/limit"
	"github.com/calldibs/dibs/internal/wire"
)

const tagNames = "Names"

func (s *Server) registerNames() {
	register(s, s.operation(http.MethodGet, "/v1/names", "listNames", "List names", tagNames, 422), s.listNames)
	register(s, s.operation(http.MethodGet, namePath, "getName", "Show a name", tagNames, 404, 422), s.getName)
	register(s, s.operation(http.MethodPost, "/v1/names/lookup", "lookUpName", "Show a name whose value does not belong in a URL", tagNames, 404, 422), s.lookUp)
	s.registerHistory()
	s.registerCheck()
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
	name, err := s.runForName(ctx, dibs.Claim{
		Namespace: b.Namespace, Value: b.Value, Entity: b.Entity.Entity(), CorrelationID: b.CorrelationID,
		Meta: b.Meta, Field: b.Field, OverrideReserved: b.OverrideReserved,
	})
	if err != nil {
		return nil, err
	}
	return created(name.Body, name.Body.Replayed), nil
}

// ByName is a name in a path. It is exported because the API library fills only exported
// embedded fields. The same holds for the other types that inputs embed.
type ByName struct {
	Namespace string `path:"namespace" example:"slug"`
	Value     string `path:"value" doc:"Percent-encoded. The namespace's profile makes it canonical." example:"alice-bob"`
}

// NameInBody is a name in a body.
type NameInBody struct {
	Namespace string `json:"namespace" example:"email"`
	Value     string `json:"value" example:"alice@example.com"`
}

// mayInURL checks the caller's right in a namespace, and then refuses a value in the URL if the
// namespace is blind: URLs end up in logs. The right comes first, so that a caller does not
// learn which namespaces of others are blind.
func (s *Server) mayInURL(ctx context.Context, verb access.Verb, namespace, instead string) error {
	if err := s.may(ctx, verb, namespace); err != nil {
		return err
	}
	policy, err := s.cfg.Registry.Policy(namespace)
	if err == nil && len(policy.Blind) > 0 {
		return newProblem(http.StatusUnprocessableEntity, "VALUE_IN_URL",
			fmt.Sprintf("%s is blind, so its values do not belong in a URL: use POST %s", namespace, instead))
	}
	return nil
}

func (s *Server) getName(ctx context.Context, in *ByName) (*answer[wire.Name], error) {
	if err := s.mayInURL(ctx, access.Get, in.Namespace, "/v1/names/lookup"); err != nil {
		return nil, err
	}
	return s.showName(ctx, dibs.Lookup{Namespace: in.Namespace, Value: in.Value, Version: true})
}

func (s *Server) lookUp(ctx context.Context, in *struct{ Body NameInBody }) (*answer[wire.Name], error) {
	if err := s.may(ctx, access.Get, in.Body.Namespace); err != nil {
		return nil, err
	}
	return s.showName(ctx, dibs.Lookup{Namespace: in.Body.Namespace, Value: in.Body.Value, Version: true})
}

type listInput struct {
	Namespace string `query:"namespace" doc:"Default: all namespaces."`
	State     string `query:"state" doc:"free, held, suspect, active, alias or quarantined. Default: all except free."`
	Prefix    string `query:"prefix" doc:"A prefix of the canonical form."`
	Limit     int    `query:"limit" minimum:"0" maximum:"1000" doc:"Default: 100."`
	Cursor    string `query:"cursor" doc:"nextCursor of the page before."`
}

func (s *Server) listNames(ctx context.Context, in *listInput) (*answer[wire.NamesPage], error) {
	if err := s.may(ctx, access.List, in.Namespace); err != nil {
		return nil, err
	}
	if p := s.chargePage(infoOf(ctx), in.Limit); p != nil {
		return nil, p
	}
	page, err := s.registry(ctx).List(ctx, dibs.NamesQuery{
		Namespace: in.Namespace, State: dibs.State(in.State), Prefix: in.Prefix, Limit: in.Limit, Cursor: in.Cursor,
	})
	return ok(wire.NamesPage{Names: wire.NamesOf(page.Names), NextCursor: page.Next}), err
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
	return s.runForName(ctx, dibs.Decommission{Namespace: in.Namespace, Value: in.Value, Entity: in.Body.Entity.Entity()})
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
	return s.runForName(ctx, dibs.Transfer{Namespace: in.Namespace, Value: in.Value, From: in.Body.From.Entity(), To: in.Body.To.Entity()})
}

type swapInput struct {
	Body struct {
		Namespace string     `json:"namespace"`
		A         wire.Named `json:"a" doc:"As it is before the swap."`
		B         wire.Named `json:"b" doc:"As it is before the swap."`
	}
}

func (s *Server) swap(ctx context.Context, in *swapInput) (*answer[wire.Result], error) {
	result, err := s.run(ctx, dibs.Swap{Namespace: in.Body.Namespace, A: in.Body.A.Named(), B: in.Body.B.Named()})
	return ok(wire.ResultOf(result)), err
}

func (s *Server) registerCheck() {
	register(s, s.operation(http.MethodGet, "/v1/check/{namespace}/{value}", "checkName", "Ask whether a name could be reserved", tagNames, 422), s.checkName)
	register(s, s.operation(http.MethodPost, "/v1/check", "checkNames", "Ask whether names could be reserved", tagNames, 422), s.checkNames)
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
		Entity    *wire.Entity `json:"entity,omitempty" doc:"The owner-to-be. A name in quarantine is available to its last owner."`
		Suggest   int          `json:"suggest,omitempty" minimum:"0" maximum:"10" doc:"How many free names to offer for each that is not available."`
		Parts     []string     `json:"parts,omitempty" doc:"Parts for suggestions: a surname, a city, a year."`
	}
}

type availabilities struct {
	Results []wire.Availability `json:"results" nullable:"false"`
}

// maxWithoutBulk is how many values a check may have without the right bulk.
const maxWithoutBulk = 10

func (s *Server) checkNames(ctx context.Context, in *checkNamesInput) (*answer[availabilities], error) {
	b := in.Body
	if len(b.Values) > maxWithoutBulk {
		if err := s.may(ctx, access.Bulk, b.Namespace); err != nil {
			return nil, err
		}
	}
	if err := s.may(ctx, access.Check, b.Namespace); err != nil {
		return nil, err
	}
	return s.check(ctx, dibs.CheckRequest{
		Namespace: b.Namespace, Values: b.Values, Entity: b.Entity.Entity(), Suggest: b.Suggest, Parts: b.Parts,
	})
}

func (s *Server) check(ctx context.Context, request dibs.CheckRequest) (*answer[availabilities], error) {
	if p := s.chargeMore(ctx, min(len(request.Values), limit.LeastChecks)-1); p != nil {
		return nil, p
	}
	list, err := s.reader(ctx).Check(ctx, request)
	return ok(availabilities{wire.ListOf(list, wire.AvailabilityOf)}), err
}

func (s *Server) registerHistory() {
	register(s, s.operation(http.MethodGet, namePath+"/history", "getHistory", "Show what happened to a name, or who held it at a moment", tagNames, 422), s.getHistory)
	register(s, s.operation(http.MethodPost, "/v1/names/history", "lookUpHistory", "The same for a value that does not belong in a URL", tagNames, 422), s.lookUpHistory)
}

// history is the events of a name, or its holder at a moment.
type history struct {
	Events     []wire.Event `json:"events,omitzero" doc:"The newest events, or those before another page, oldest first."`
	NextCursor string       `json:"nextCursor,omitempty" doc:"The cursor of the page with older events; absent on the last page."`
	Holder     *wire.Holder `json:"holder,omitempty" doc:"With at: the holder at that moment."`
}

type historyInput struct {
	ByName
	At     time.Time `query:"at" doc:"Show the holder at this moment."`
	Limit  int       `query:"limit" minimum:"0" maximum:"1000" doc:"Default: 1,000."`
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
		NameInBody
		At     time.Time `json:"at,omitzero" doc:"Show the holder at this moment."`
		Limit  int       `json:"limit,omitempty" minimum:"0" maximum:"1000" doc:"Default: 1,000."`
		Cursor string    `json:"cursor,omitempty" doc:"nextCursor of the page with newer events."`
	}
}

func (s *Server) lookUpHistory(ctx context.Context, in *lookUpHistoryInput) (*answer[history], error) {
	b := in.Body
	if err := s.may(ctx, access.History, b.Namespace); err != nil {
		return nil, err
	}
	return s.findHistory(ctx, dibs.HistoryQuery{Namespace: b.Namespace, Value: b.Value, Limit: b.Limit, Cursor: b.Cursor}, b.At)
}

// defaultHistory is how many events an answer has if the request sets no limit.
const defaultHistory = 1000

func (s *Server) findHistory(ctx context.Context, query dibs.HistoryQuery, at time.Time) (*answer[history], error) {
	size := query.Limit
	if size == 0 || !at.IsZero() {
		size = defaultHistory
	}
	if p := s.chargePage(infoOf(ctx), size); p != nil {
		return nil, p
	}
	if !at.IsZero() {
		h, err := s.registry(ctx).WhoHeld(ctx, query.Namespace, query.Value, at)
		holder := wire.HolderOf(h)
		return ok(history{Holder: &holder}), err
	}
	page, err := s.registry(ctx).HistoryPage(ctx, query)
	return ok(history{Events: wire.EventsOf(page.Events), NextCursor: page.Next}), err
}
