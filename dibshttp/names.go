package dibshttp

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/redirect"
)

// retryAfter is the Retry-After of a name that cannot be resolved, in seconds.
const retryAfter = "1"

// Match is the name in a request.
type Match struct {
	Namespace string
	Value     string // as in the URL
	Canonical string
	Entity    dibs.Entity // the owner of the name
}

type matchKey struct{}

// FromContext returns the name in a request, and false for a request without one.
func FromContext(ctx context.Context) (Match, bool) {
	match, ok := ctx.Value(matchKey{}).(Match)
	return match, ok
}

// Names is the middleware. It is safe for concurrent use. Create it with [New].
type Names struct {
	resolver Resolver
	cfg      Config
}

// New returns the middleware for the names of a registry. It checks the configuration.
func New(names Resolver, cfg Config) (*Names, error) {
	if err := checkNamespace(names, cfg.Namespace); err != nil {
		return nil, err
	}
	complete, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Names{resolver: names, cfg: complete}, nil
}

// Wrap returns a handler that passes requests for current names, and those without a name, to
// the application. It responds to all others itself.
func (n *Names) Wrap(application http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		value, ok := n.cfg.Value(r)
		if !ok {
			application.ServeHTTP(w, r)
			return
		}
		namespace := n.cfg.NamespaceOf(r)
		found, err := n.resolver.Resolve(r.Context(), namespace, value)
		maxStale := max(0, n.cfg.MaxStale-found.Age)
		out := &cappedWriter{ResponseWriter: w, maxAge: maxAge(maxStale / time.Second), request: r}
		defer out.capHeaders()
		switch {
		case errors.Is(err, dibs.ErrInvalidValue), errors.Is(err, dibs.ErrInvalidNamespace) && n.cfg.Namespace == "":
			n.respond(out, r, n.cfg.NotFound) // no name can have this value
		case err != nil:
			n.fail(out, r, err)
		case found.Outcome == dibs.ResolveActive && (n.cfg.AnySpelling || found.Canonical == value):
			match := Match{Namespace: namespace, Value: value, Canonical: found.Canonical, Entity: found.Entity}
			application.ServeHTTP(out, r.WithContext(context.WithValue(r.Context(), matchKey{}, match)))
		case found.Outcome == dibs.ResolveActive:
			n.redirect(out, r, http.StatusMovedPermanently, found.Canonical)
		case found.Outcome == dibs.ResolveMoved && found.To != nil:
			n.redirect(out, r, found.Status, found.To.Canonical)
		case found.Status == http.StatusGone:
			n.respond(out, r, n.cfg.Gone)
		default:
			n.respond(out, r, n.cfg.NotFound)
		}
	})
}

// redirect redirects to the URL with another name. It does not use [http.Redirect], which
// would clean the rest of the path.
func (n *Names) redirect(w *cappedWriter, r *http.Request, status int, canonical string) {
	location := n.cfg.Location(r, canonical)
	if location == "" {
		n.respond(w, r, n.cfg.NotFound)
		return
	}
	w.Header().Set("Location", location)
	w.Header().Set("Cache-Control", w.maxAge.shared())
	w.WriteHeader(redirect.Status(status, r.Method))
}

// respond calls a handler whose response caches may keep for MaxStale.
func (n *Names) respond(w *cappedWriter, r *http.Request, handler http.Handler) {
	w.Header().Set("Cache-Control", w.maxAge.shared())
	handler.ServeHTTP(w, r)
}

// fail responds if a name cannot be resolved. The error goes to the log only, since it may
// contain more about the registry than clients should know.
func (n *Names) fail(w *cappedWriter, r *http.Request, err error) {
	if r.Context().Err() == nil { // otherwise the client has disconnected
		n.cfg.Logger.ErrorContext(r.Context(), "dibshttp: cannot resolve a name", "error", err)
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Retry-After", retryAfter)
	n.cfg.Unavailable.ServeHTTP(w, r)
}
