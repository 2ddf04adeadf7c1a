package server

import (
	"context"
	"crypto/x509"
	"log/slog"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/singleflight"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibscache"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/health"
	"github.com/calldibs/dibs/internal/limit"
	"github.com/calldibs/dibs/internal/webhook"
)

// Config is what a Server works with.
type Config struct {
	// Registry hands out the names.
	Registry *dibs.Registry
	// Store is the engine under the Registry, for whether it answers and what it holds.
	Store dibs.Store
	// Health knows how the Store is. Nil means that it is asked whether it answers, and no
	// more.
	Health *health.Monitor
	// Authenticate finds out who has a key, which is empty where the request has none.
	// Nil means that nobody needs one, and everybody may do everything.
	Authenticate func(ctx context.Context, key string) (access.Caller, error)
	// Certificate finds out whose a client certificate is that TLS has found to be good,
	// where a request has no key. Nil means that certificates say nothing.
	Certificate func(ctx context.Context, c *x509.Certificate) (access.Caller, error)
	// Origins are the sites whose pages may call the API, see [access.CheckOrigin]. None means
	// that only pages of the server itself may.
	Origins []string

	// Webhooks are those of the Registry. Nil means that there are none.
	Webhooks *webhook.Service

	// LocalOnly keeps requests without a key to those that were meant for this machine.
	LocalOnly bool

	// MaxStale is how long anybody may keep what a name resolves to.
	MaxStale time.Duration
	// Cache answers questions for which an older answer is good enough. Nil means none.
	Cache *dibscache.Cache
	// MaxBody is how many bytes a request's body must stay under. Zero means 1 MiB.
	MaxBody int64
	// RequestTimeout is how long a request may take, streams apart. Zero means 15 s.
	RequestTimeout time.Duration
	// Limits bound what callers can ask for. The zero value bounds nothing.
	Limits limit.Limits

	// Version is the program's own, for the API's description.
	Version string
	// Logger is told about requests. Nil means nobody is told.
	Logger *slog.Logger
	// Metrics counts requests and serves /metrics. Nil means that there are none.
	Metrics *Metrics
	// TracerProvider takes the spans of requests. Nil means that there are none.
	TracerProvider trace.TracerProvider
}

// Server is the API as a handler. It is safe for concurrent use.
type Server struct {
	cfg     Config
	mux     *http.ServeMux
	api     huma.API
	handler http.Handler
	origins origins
	limits  *limits

	stats    *stats
	pings    singleflight.Group
	draining atomic.Bool
	streams  context.Context // ends when the server drains
	end      context.CancelFunc

	heartbeat, streamWrite time.Duration // of streams; shorter in tests
}

// New returns a Server.
func New(cfg Config) *Server {
	if cfg.MaxBody == 0 {
		cfg.MaxBody = 1 << 20
	}
	if cfg.RequestTimeout == 0 {
		cfg.RequestTimeout = 15 * time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Metrics == nil {
		cfg.Metrics = NewMetrics()
	}
	useProblems()
	s := &Server{
		cfg: cfg, mux: http.NewServeMux(), stats: &stats{registry: cfg.Registry}, origins: newOrigins(cfg.Origins),
		limits:    newLimits(cfg.Limits),
		heartbeat: defaultHeartbeat, streamWrite: defaultStreamWrite,
	}
	_ = cfg.Metrics.registry.Register(nameCounts{s.stats}) // a second server with these metrics counts the same
	if cfg.Health != nil {
		_ = cfg.Metrics.registry.Register(storeStates{cfg.Health})
	}
	if cfg.Cache != nil {
		for _, figure := range cacheFigures(cfg.Cache) {
			_ = cfg.Metrics.registry.Register(figure)
		}
	}
	s.streams, s.end = context.WithCancel(context.Background())
	s.api = humago.New(s.mux, describe(cfg.Version))
	s.api.UseMiddleware(s.authenticate, s.freshness)
	s.reservations()
	s.names()
	s.entities()
	s.commands()
	s.watching()
	s.operating()
	s.webhooks()
	s.pages()
	s.handler = s.guard(s.mux)
	return s
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Drain makes /readyz answer that the server is going, and ends all streams. What is
// under way goes on: http.Server.Shutdown waits for it.
func (s *Server) Drain() {
	s.draining.Store(true)
	s.end()
}

// describe says what the API is.
func describe(version string) huma.Config {
	if version == "" {
		version = "development"
	}
	c := huma.DefaultConfig("Dibs", version)
	c.Info.Description = "A registry of names: reserve, confirm, release, and the whole life after it."
	c.DocsPath = ""    // its own page loads from elsewhere
	c.OpenAPIPath = "" // its own handlers race for what they keep
	c.SchemasPath = ""
	c.CreateHooks = nil // no links to schemas in answers
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

// operation describes one call of the API.
func (s *Server) operation(method, path, id, summary, tag string, errors ...int) huma.Operation {
	return huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary, Tags: []string{tag},
		MaxBodyBytes: s.cfg.MaxBody, BodyReadTimeout: s.cfg.RequestTimeout,
		Errors: append(errors, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable),
	}
}

// alwaysNew marks an operation that makes something new each time.
const alwaysNew = "alwaysNew"

// completeResponses describes the answers that follow from what an operation is: of each,
// that there is no such query parameter; of one with a body, what can be wrong with bodies;
// of one that makes something, that it stood already.
func completeResponses(_ *huma.OpenAPI, op *huma.Operation) {
	statuses := []int{http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge}
	if op.RequestBody != nil {
		statuses = append(statuses, http.StatusBadRequest, http.StatusRequestTimeout, http.StatusUnsupportedMediaType)
	}
	for _, status := range statuses {
		// Every problem looks the same.
		op.Responses[strconv.Itoa(status)] = &huma.Response{
			Description: http.StatusText(status), Content: op.Responses["503"].Content,
		}
	}
	if created := op.Responses["201"]; created != nil && op.Metadata[alwaysNew] == nil {
		op.Responses["200"] = &huma.Response{Description: "It stood already, and nothing was changed.", Content: created.Content}
	}
}
