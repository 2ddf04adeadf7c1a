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

func (s *Server) registerQueries() {
	get := func(path, id, summary, tag string, statuses ...int) huma.Operation {
		return s.operation(http.MethodGet, path, id, summary, tag, statuses...)
	}
	// A value that does not belong in a URL is in the body.
	post := func(path, id, summary string, statuses ...int) huma.Operation {
		return s.operation(http.MethodPost, path, id, summary, tagNames, statuses...)
	}
	register(s, get("/v1/names", "listNames", "List names", tagNames, 422), s.listNames)
	register(s, get(namePath, "getName", "Show a name", tagNames, 404, 422), s.getName)
	register(s, post("/v1/names/lookup", "lookUpName", "Show a name whose value does not belong in a URL\nFor values that must not end up in logs of URLs, such as emails.", 404, 422), s.lookUp)
	register(s, get(namePath+"/history", "getHistory", "Show what happened to a name, or who held it at a moment", tagNames, 422), s.getHistory)
	register(s, post("/v1/names/history", "lookUpHistory", "Show the history of a name whose value does not belong in a URL\nFor values that must not end up in logs of URLs, such as emails.", 422), s.lookUpHistory)
	register(s, get("/v1/check/{namespace}/{value}", "checkName", "Ask whether a name could be reserved\nThe answer is a snapshot and no promise: to get a name, reserve it.", tagNames, 422), s.checkName)
	register(s, post("/v1/check", "checkNames", "Ask whether several names could be reserved\nThe answer is a snapshot and no promise: to get a name, reserve it.", 422), s.checkNames)
	register(s, get(reservationPath, "getReservation", "Show a reservation", tagReservations, 404), s.getReservation)
	register(s, get(entityPath, "getEntity", "Show an entity with its names", tagEntities, 404, 422), s.getEntity)
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
	Ending    int64  `query:"endingWithinMs" minimum:"0" maximum:"3600000" doc:"Only holds that end within this time, the soonest first, without further pages." example:"60000"`
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
		EndingWithin: time.Duration(in.Ending) * time.Millisecond,
	})
	return ok(wire.NamesPage{Names: wire.NamesOf(page.Names), NextCursor: page.Next}), err
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

// history is the events of a name, or its holder at a moment.
type history struct {
	Events     []wire.Event `json:"events,omitzero" nullable:"false" doc:"The newest events, or those before another page, oldest first."`
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

func (s *Server) getReservation(ctx context.Context, in *ByReservation) (*answer[wire.Name], error) {
	if err := s.maySomewhere(ctx, access.Get); err != nil {
		return nil, err
	}
	id, err := dibs.ParseID(in.ReservationID)
	if err != nil {
		return nil, err
	}
	return s.showName(ctx, dibs.Lookup{ID: id, Version: true, Visible: infoOf(ctx).canGet})
}

func (s *Server) showName(ctx context.Context, lookup dibs.Lookup) (*answer[wire.Name], error) {
	name, err := s.registry(ctx).Get(ctx, lookup)
	return ok(wire.NameOf(name)), err
}

type versioned[T any] struct {
	ETag string `header:"ETag" doc:"The entity's version."`
	Body T
}

func (s *Server) getEntity(ctx context.Context, in *ByEntity) (*versioned[wire.EntityInfo], error) {
	if err := s.mayInScope(ctx, access.Get, in.Scope); err != nil {
		return nil, err
	}
	info, err := s.registry(ctx).Entity(ctx, in.Scope, in.entity())
	return &versioned[wire.EntityInfo]{etag(info.Version), wire.EntityInfoOf(info)}, err
}
