package server

import (
	"context"
	"net/http"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/limit"
	"github.com/calldibs/dibs/internal/wire"
)

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
