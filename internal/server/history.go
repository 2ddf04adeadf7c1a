package server

import (
	"context"
	"net/http"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/wire"
)

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
