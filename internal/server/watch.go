package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"golang.org/x/sync/singleflight"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/wire"
)

const (
	tagWatching = "Watching"
	eventsPath  = "/v1/events"

	// defaultHeartbeat is how often a stream without events sends a comment. As often its key is
	// checked again: a revoked key ends the stream.
	defaultHeartbeat = 5 * time.Second
	// defaultStreamWrite is how long a client may take to accept an event.
	defaultStreamWrite = 10 * time.Second
)

func (s *Server) registerWatch() {
	events := s.operation(http.MethodGet, eventsPath, "events", "Read the feed, as a page or as a stream", tagWatching, 422)
	events.Description = "With `Accept: text/event-stream` the answer is a stream of server-sent events. Their ids are cursors: the stream resumes from `Last-Event-ID`."
	events.Responses = map[string]*huma.Response{"200": {
		Description: "A page of events, or a stream of them.",
		Content: map[string]*huma.MediaType{
			"application/json":  {Schema: s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[wire.EventsPage](), true, "EventsPage")},
			"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString, Description: "Each message's data is an Event."}},
		},
	}}
	register(s, events, s.events)
	register(s, s.operation(http.MethodGet, "/v1/stats/conflicts", "conflicts", "Count conflicts by namespace, reason and hour\nEvery refused attempt to change something counts, under its reason.", tagWatching, 422), s.conflicts)
	register(s, s.operation(http.MethodGet, "/v1/stats/activity", "activity", "Count what happened by namespace and minute or hour\nEvents by kind, and refused attempts: per minute of the last hour, per hour of the last week.", tagWatching, 422), s.activity)
	register(s, s.operation(http.MethodGet, "/v1/stats", "stats", "Count names by namespace and state", tagWatching), s.getStats)
}

type eventsInput struct {
	After       string `query:"after" doc:"Resume after this cursor; latest means from now on, and a time such as 2026-03-01T15:04:05Z from then on. Default: from the beginning."`
	Limit       int    `query:"limit" minimum:"0" maximum:"1000" doc:"Default: 100."`
	Namespace   string `query:"namespace" doc:"Only names of this namespace."`
	LastEventID string `header:"Last-Event-ID" doc:"For a stream: resume after this cursor."`
	Accept      string `header:"Accept"`
}

// maxScanned is how many events one page scans at most to find those of a namespace, see
// [dibs.EventPage].
const maxScanned = 1000

// scanned returns how many events a page of the feed may scan, for those of a namespace or for the
// place of a moment.
func scanned(query dibs.FeedQuery) int {
	if _, seeks := query.After.Moment(); seeks || query.Namespace != "" {
		return maxScanned
	}
	return query.Limit
}

func (s *Server) events(ctx context.Context, in *eventsInput) (*huma.StreamResponse, error) {
	if err := s.may(ctx, access.Events, in.Namespace); err != nil {
		return nil, err
	}
	query := dibs.FeedQuery{After: dibs.Cursor(in.After), Namespace: in.Namespace, Limit: in.Limit}
	if in.LastEventID != "" {
		query.After = dibs.Cursor(in.LastEventID)
	}
	info := infoOf(ctx)
	if p := s.chargePage(info, scanned(query)); p != nil {
		return nil, p
	}
	// For a stream too: an invalid query is refused before the stream begins.
	page, err := s.registry(ctx).Events(ctx, query)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hctx huma.Context) {
		r, w := humago.Unwrap(hctx)
		if streaming(r) {
			s.stream(w, r, info, query, page)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(wire.EventsPageOf(page))
	}}, nil
}

// stream writes events as they happen, until the client disconnects or the server drains.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, info *requestInfo, query dibs.FeedQuery, page dibs.EventPage) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.streams, cancel)()
	s.cfg.Metrics.streams.Inc()
	defer s.cfg.Metrics.streams.Dec()
	s.openStreams.Add(1)
	defer s.openStreams.Add(-1)

	out := &eventWriter{w: w, control: http.NewResponseController(w), timeout: s.streamWrite}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // makes proxies pass on each event at once
	w.WriteHeader(http.StatusOK)
	if query.After == dibs.Latest {
		out.position(page.Next)
	}
	registry := s.registry(r.Context())
	checked := time.Now()
	for {
		if time.Since(checked) >= s.heartbeat {
			if checked = time.Now(); !s.stillMay(r, query.Namespace) {
				return
			}
		}
		for _, e := range page.Events {
			lag := time.Since(e.At.Time())
			s.cfg.Metrics.feedLag.Observe(lag.Seconds())
			s.feedLag.Store(max(0, lag.Milliseconds()))
			if err := out.event(e); err != nil {
				return
			}
		}
		if err := out.control.Flush(); err != nil {
			return
		}
		query.After = page.Next
		pause := page.More && len(page.Events) == 0 && s.chargePage(info, maxScanned) != nil
		var err error
		if page, err = s.nextEvents(ctx, registry, query, page.More, pause); err != nil {
			if ctx.Err() == nil {
				s.cfg.Logger.Warn("event stream failed", "error", err)
			}
			return
		}
		switch {
		case len(page.Events) > 0:
		case page.Next != query.After:
			out.position(page.Next) // a resumed stream need not scan those events again
		default:
			_ = out.write(": still here\n\n")
		}
	}
}

// nextEvents returns the next page. At the end of the feed it waits for events, and returns an
// empty page when a heartbeat is due. Scanning events of other namespaces counts like the page
// calls that it would take without a stream, so it pauses if the caller's limit is exceeded.
func (s *Server) nextEvents(ctx context.Context, registry *dibs.Registry, query dibs.FeedQuery, more, pause bool) (dibs.EventPage, error) {
	if more && !pause {
		return registry.Events(ctx, query)
	}
	wait, cancel := context.WithTimeout(ctx, s.heartbeat)
	defer cancel()
	if more {
		<-wait.Done()
		return dibs.EventPage{Next: query.After, More: true}, ctx.Err()
	}
	page, err := registry.AwaitEvents(wait, query)
	if err != nil && wait.Err() != nil && ctx.Err() == nil { // a store that did not answer in time may fail at once, with the same error
		return dibs.EventPage{Next: cmp.Or(page.Next, query.After)}, nil // do not scan the same events again
	}
	return page, err
}

func (s *Server) stillMay(r *http.Request, namespace string) bool {
	caller, p := s.identify(r)
	if p != nil && p.Status != http.StatusUnauthorized {
		return true // the keys cannot be read; the next heartbeat tries again
	}
	return p == nil && caller.May(access.Events, namespace)
}

type eventWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration // of one write
}

func (o *eventWriter) event(e dibs.Event) error {
	data, err := json.Marshal(wire.EventOf(e))
	if err != nil {
		return err
	}
	return o.write("id: %s\nevent: %s\ndata: %s\n\n", e.Cursor, e.Kind, data)
}

// position sends a cursor without an event, so that a client can resume before the first one.
func (o *eventWriter) position(cursor dibs.Cursor) { _ = o.write("id: %s\n\n", cursor) }

func (o *eventWriter) write(format string, args ...any) error {
	_ = o.control.SetWriteDeadline(time.Now().Add(o.timeout))
	_, err := fmt.Fprintf(o.w, format, args...)
	return err
}

type conflictsInput struct {
	Namespace string    `query:"namespace"`
	From      time.Time `query:"from" doc:"All hours that overlap the span. Default: from the first."`
	To        time.Time `query:"to"`
	Bucket    string    `query:"bucket" enum:"hour"`
}

type conflicts struct {
	Buckets []wire.ConflictBucket `json:"buckets" nullable:"false"`
}

func (s *Server) conflicts(ctx context.Context, in *conflictsInput) (*answer[conflicts], error) {
	if err := s.may(ctx, access.Stats, in.Namespace); err != nil {
		return nil, err
	}
	list, err := s.registry(ctx).Conflicts(ctx, dibs.ConflictsQuery{Namespace: in.Namespace, From: in.From, To: in.To})
	return ok(conflicts{wire.ListOf(list, wire.ConflictBucketOf)}), err
}

type activityInput struct {
	Namespace string    `query:"namespace" doc:"Default: all namespaces." example:"slug"`
	Bucket    string    `query:"bucket" enum:"minute,hour" default:"minute" doc:"Minutes are kept for two hours, hours for eight days."`
	From      time.Time `query:"from" doc:"All buckets that overlap the span. Default: the last 60 minutes, or the last 168 hours."`
	To        time.Time `query:"to" doc:"Default: now."`
}

func (s *Server) activity(ctx context.Context, in *activityInput) (*answer[wire.Activity], error) {
	if err := s.may(ctx, access.Stats, in.Namespace); err != nil {
		return nil, err
	}
	query := dibs.ActivityQuery{Namespace: in.Namespace, Per: time.Minute, From: in.From, To: in.To}
	span := time.Hour
	if in.Bucket == "hour" {
		query.Per, span = time.Hour, 7*24*time.Hour
	}
	if in.From.IsZero() {
		query.From = time.Now().Add(-span)
	}
	activity, err := s.registry(ctx).Activity(ctx, query)
	return ok(wire.ActivityOf(activity, in.Bucket)), err
}

const (
	// statsAge is how long counts are cached.
	statsAge     = time.Second
	statsTimeout = 10 * time.Minute
	// statsShare keeps counting to a hundredth of the time, on engines that read all names for it.
	statsShare = 100
)

// stats caches the counts of names.
type stats struct {
	registry *dibs.Registry
	counting singleflight.Group

	mu    sync.Mutex
	last  dibs.Stats
	taken time.Time
	took  time.Duration
}

// get returns the cached counts, even while a new count is in progress: on a large registry it
// takes too long to wait for. Only the first caller waits.
func (s *stats) get(ctx context.Context) (dibs.Stats, time.Time, error) {
	counts, taken, counted := s.latest()
	if !taken.IsZero() {
		return counts, taken, nil
	}
	select {
	case result := <-counted:
		if result.Err != nil {
			return dibs.Stats{}, time.Time{}, result.Err
		}
	case <-ctx.Done():
		return dibs.Stats{}, time.Time{}, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, s.taken, nil
}

// latest returns the last counts, and starts a new count if one is due. The time is zero if there
// are none yet; then the channel receives the end of the first count.
func (s *stats) latest() (dibs.Stats, time.Time, <-chan singleflight.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var counted <-chan singleflight.Result
	if time.Since(s.taken) >= max(statsAge, s.took*statsShare) {
		counted = s.counting.DoChan("", s.count)
	}
	return s.last, s.taken, counted
}

func (s *stats) count() (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), statsTimeout)
	defer cancel()
	begin := time.Now()
	counts, err := s.registry.Stats(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.last, s.taken, s.took = counts, time.Now(), time.Since(begin)
	}
	return nil, err
}

func (s *Server) getStats(ctx context.Context, _ *struct{}) (*answer[wire.Stats], error) {
	if err := s.may(ctx, access.Stats, allNamespaces); err != nil {
		return nil, err
	}
	counts, taken, err := s.stats.get(ctx)
	return ok(wire.StatsOf(counts, taken)), err
}
