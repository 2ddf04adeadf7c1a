// Package server serves the API over HTTP. It has no rule about names: it decodes requests,
// authenticates callers, checks their rights and limits, and calls the Registry.
package server

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/singleflight"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibscache"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/internal/health"
	"github.com/calldibs/dibs/internal/limit"
	"github.com/calldibs/dibs/internal/webhook"
)

// Config configures a Server.
type Config struct {
	// Registry has the names.
	Registry *dibs.Registry
	// Store is the engine of the Registry. The Server pings it.
	Store dibs.Store
	// Stores describes the Store, or each engine of one with routes, for operators. None means
	// that they are not shown.
	Stores []StoreInfo
	// PolicyNames returns the namespaces and types that have a policy. Nil means none.
	PolicyNames func() []string
	// Health knows the state of the Store. Nil means that the Server only pings the Store.
	Health *health.Monitor
	// Authenticate returns the caller with a key, which is empty if the request has none. Nil
	// means that no request needs a key, and every caller has all rights.
	Authenticate func(ctx context.Context, key string) (access.Caller, error)
	// Certificate returns the caller with a client certificate that TLS has verified, for a
	// request without a key. Nil means that certificates are ignored.
	Certificate func(ctx context.Context, c *x509.Certificate) (access.Caller, error)
	// SignIn signs browsers in. Nil means that they have no sessions.
	SignIn *auth.Authenticator
	// Origins are the sites whose pages may call the API, see [access.CheckOrigin]. Empty means
	// only pages of the server itself.
	Origins []string

	// Dashboard has the files of the dashboard. Nil means a start page in its place.
	Dashboard fs.FS

	// Webhooks are the webhooks of the Registry. Nil means none.
	Webhooks *webhook.Service

	// LocalOnly refuses requests without a key, except on localhost.
	LocalOnly bool

	// MaxStale is how long clients may cache a resolution.
	MaxStale time.Duration
	// Cache answers queries that allow a stale answer. Nil means no cache.
	Cache *dibscache.Cache
	// MaxBody is the size in bytes that a request's body must stay below. Zero means 1 MiB.
	MaxBody int64
	// RequestTimeout is how long a request may take, except streams. Zero means 15 s.
	RequestTimeout time.Duration
	// Limits bound the requests of callers. The zero value means no limits.
	Limits limit.Limits

	// Version is the version of the program, for the API's description.
	Version string
	// Logger logs requests. Nil means no log.
	Logger *slog.Logger
	// Metrics counts requests and serves /metrics. Nil means metrics of its own.
	Metrics *Metrics
	// TracerProvider receives the spans of requests. Nil means no tracing.
	TracerProvider trace.TracerProvider
}

// Server is the HTTP handler of the API. It is safe for concurrent use.
type Server struct {
	cfg     Config
	mux     *http.ServeMux
	api     huma.API
	quick   map[string]quick // by operation
	noRoute *route           // counts requests without a route
	origins origins
	limits  *limits

	started     time.Time
	feedLag     atomic.Int64 // of the last event on a stream, in milliseconds
	openStreams atomic.Int64

	stats    *stats
	pings    singleflight.Group
	draining atomic.Bool
	streams  context.Context // ends when the server drains
	end      context.CancelFunc

	heartbeat, streamWrite time.Duration // of streams; shorter in tests
}

// New returns a Server.
func New(cfg Config) *Server {
	cfg.MaxBody = cmp.Or(cfg.MaxBody, 1<<20)
	cfg.RequestTimeout = cmp.Or(cfg.RequestTimeout, 15*time.Second)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	if cfg.Metrics == nil {
		cfg.Metrics = NewMetrics()
	}
	useProblems()
	s := &Server{
		cfg: cfg, mux: http.NewServeMux(), stats: &stats{registry: cfg.Registry}, origins: newOrigins(cfg.Origins),
		limits: newLimits(cfg.Limits), started: time.Now(),
		heartbeat: defaultHeartbeat, streamWrite: defaultStreamWrite,
	}
	cfg.Metrics.observe(s)
	s.streams, s.end = context.WithCancel(context.Background())
	s.noRoute = cfg.Metrics.route("none")
	s.quick = s.quickCalls()
	s.api = huma.NewAPI(describe(cfg.Version), adapter{s})
	s.registerCommands()
	s.registerQueries()
	s.registerResolve()
	s.registerWatch()
	s.registerOperate()
	s.registerWebhooks()
	s.registerSearch()
	s.registerContested()
	s.registerInfo()
	nameEnums(s.api.OpenAPI().Components.Schemas.Map())
	s.registerSignIn()
	s.registerPages()
	return s
}

// Drain makes /readyz answer 503, and ends all streams. Requests in flight go on;
// http.Server.Shutdown waits for them.
func (s *Server) Drain() {
	s.draining.Store(true)
	s.end()
}

func describe(version string) huma.Config {
	c := huma.DefaultConfig("Dibs", cmp.Or(version, "development"))
	c.Info.Description = "A registry of names: reserve, confirm, release, and everything after."
	c.DocsPath = ""    // the library's page loads scripts from another site
	c.OpenAPIPath = "" // the library's handlers have a data race
	c.SchemasPath = ""
	c.CreateHooks = nil // no links to schemas in responses
	c.OnAddOperation = []huma.AddOpFunc{boundInputs, completeResponses}
	c.RejectUnknownQueryParameters = true
	c.Formats = map[string]huma.Format{"application/json": strictJSON, "json": strictJSON}
	c.DefaultFormat = "application/json"
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"key": {Type: "http", Scheme: "bearer", Description: "An API key, made by `dibs keys create`, or a token of an OpenID Connect issuer that the server trusts."},
	}
	c.Security = []map[string][]string{{}, {"key": {}}}
	return c
}

// operation describes one call of the API. The statuses are its errors, and 201 if it creates
// something.
func (s *Server) operation(method, path, id, summary, tag string, statuses ...int) huma.Operation {
	op := huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary, Tags: []string{tag},
		MaxBodyBytes: s.cfg.MaxBody, BodyReadTimeout: s.cfg.RequestTimeout,
		Errors: []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable},
	}
	for _, status := range statuses {
		if status == http.StatusCreated {
			op.DefaultStatus = status
		} else {
			op.Errors = append(op.Errors, status)
		}
	}
	return op
}

// register adds a call to the API. It answers errors of the handler with problems.
func register[I, O any](s *Server, op huma.Operation, handle func(context.Context, *I) (*O, error)) {
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := handle(ctx, in)
		if err != nil {
			return nil, s.problemOf(err)
		}
		return out, nil
	})
}

// alwaysNew marks an operation that creates something new each time.
const alwaysNew = "alwaysNew"

// completeResponses adds the responses that follow from the kind of an operation: of each, an
// unknown query parameter; of one with a body, an invalid body; of one that creates something,
// a replay.
func completeResponses(_ *huma.OpenAPI, op *huma.Operation) {
	statuses := []int{http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge}
	if op.RequestBody != nil {
		statuses = append(statuses, http.StatusBadRequest, http.StatusRequestTimeout, http.StatusUnsupportedMediaType)
	}
	for _, status := range statuses {
		op.Responses[strconv.Itoa(status)] = &huma.Response{
			Description: http.StatusText(status), Content: op.Responses["503"].Content,
		}
	}
	if created := op.Responses["201"]; created != nil && op.Metadata[alwaysNew] == nil {
		op.Responses["200"] = &huma.Response{Description: "A replay: nothing was changed.", Content: created.Content}
	}
}

const (
	maxHeader = 64 << 10
	// closeNotice is how long responses announce the end of their connection before idle
	// connections are closed: a request in transit would be lost with them.
	closeNotice = 500 * time.Millisecond
)

// Timeouts bound connections. Zero means 5 s for a request's head, two minutes for an idle
// connection, 20 s to drain.
type Timeouts struct {
	ReadHeader, Idle, Drain time.Duration
}

// Run serves requests until the context ends, and then drains: for half a second every response
// closes its connection; then Run accepts no new connection and finishes the requests in
// flight, within the drain timeout.
func (s *Server) Run(ctx context.Context, l net.Listener, t Timeouts) error {
	open := newConnections(s.cfg.Limits.MaxConnections, s.cfg.Metrics.connections)
	srv := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: cmp.Or(t.ReadHeader, 5*time.Second),
		IdleTimeout:       cmp.Or(t.Idle, 2*time.Minute),
		MaxHeaderBytes:    maxHeader,
		ConnState:         open.track,
		ConnContext:       open.connContext,
		ErrorLog:          slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelDebug), // mostly about clients that disconnect
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(open.limitListener(l)) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	s.Drain()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(t.Drain, 20*time.Second))
	defer cancel()
	open.awaitNone(drain, closeNotice)
	err := srv.Shutdown(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		s.cfg.Logger.Warn("drain timeout exceeded with requests in flight")
		err = srv.Close()
	}
	return err
}
