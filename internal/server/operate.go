package server

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/limit"
	"github.com/calldibs/dibs/internal/wire"
)

const (
	tagOperating = "Operating"

	sweepPath          = "/v1/sweep"
	recanonicalizePath = "/v1/recanonicalize"
	forgetPath         = "/v1/forget"
)

func (s *Server) registerOperate() {
	operation := func(path, id, summary string, statuses ...int) huma.Operation {
		return s.operation(http.MethodPost, path, id, summary, tagOperating, statuses...)
	}
	register(s, operation(sweepPath, "sweep", "Record expired holds and aliases, and purge old records\nThe server does it by itself in the background. A name is free the moment its hold ends, without a sweep.", 422), s.sweep)
	register(s, operation(recanonicalizePath, "recanonicalize", "Apply the present rules of a namespace to all its names\nAfter a change of the profile of a namespace. Names that would collide stop it before anything is changed.", 409, 422), s.recanonicalize)
	register(s, operation(forgetPath, "forget", "Erase a person, or a name, from names and history\nFor requests by the right to be forgotten. It cannot be undone.", 403, 409, 422), s.forget)
}

type sweepInput struct {
	Body struct {
		Limit int `json:"limit,omitempty" minimum:"1" maximum:"100000" doc:"How many records to process. Default: 1,000."`
	}
}

func (s *Server) sweep(ctx context.Context, in *sweepInput) (*answer[wire.SweepReport], error) {
	if err := s.may(ctx, access.Sweep, allNamespaces); err != nil {
		return nil, err
	}
	report, err := s.registry(ctx).Sweep(ctx, cmp.Or(in.Body.Limit, 1000))
	return ok(wire.SweepReportOf(report)), err
}

type recanonicalizeInput struct {
	Body struct {
		Namespace string `json:"namespace"`
		DryRun    bool   `json:"dryRun,omitempty" doc:"Only say what would be done."`
	}
}

func (s *Server) recanonicalize(ctx context.Context, in *recanonicalizeInput) (*answer[wire.Recanonicalization], error) {
	if err := s.may(ctx, access.Recanonicalize, in.Body.Namespace); err != nil {
		return nil, err
	}
	report, err := s.registry(ctx).Recanonicalize(ctx, dibs.RecanonicalizeRequest{Namespace: in.Body.Namespace, DryRun: in.Body.DryRun})
	body := wire.RecanonicalizationOf(report)
	if err != nil {
		p := s.problemOf(err)
		if len(report.Findings) > 0 {
			p.Report = &body // it lists the obstacles
		}
		return nil, p
	}
	return ok(body), nil
}

func (s *Server) forget(ctx context.Context, in *struct{ Body wire.ForgetRequest }) (*answer[wire.Forgetting], error) {
	request := in.Body.ForgetRequest()
	var err error
	switch {
	case request.Scrub: // it blocks all callers while it rewrites the file
		err = s.may(ctx, access.Forget, allNamespaces)
	case request.Namespace != "":
		err = s.may(ctx, access.Forget, request.Namespace)
	default:
		err = s.mayInScope(ctx, access.Forget, request.Scope)
	}
	if err != nil {
		return nil, err
	}
	if request.Namespace == "" { // a person: it reads the whole feed, even in a dry run
		if p := s.chargeMore(ctx, limit.LeastWrites-1); p != nil {
			return nil, p
		}
	}
	// The registry has one right, Operate, for everything; the caller needs only this verb.
	operator := dibs.Principal{Name: callerOf(ctx).Name, Rights: dibs.Operate}
	report, err := s.cfg.Registry.As(operator).Forget(ctx, request)
	if errors.Is(err, dibs.ErrUnsupported) {
		return nil, newProblem(http.StatusUnprocessableEntity, "INVALID_REQUEST", "the engine of this server does not support scrub: leave it out")
	}
	return ok(wire.ForgettingOf(report)), err
}
