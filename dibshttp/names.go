package dibshttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/redirect"
)

// Resolver resolves names. A [dibs.Registry] is one.
type Resolver interface {
	Resolve(ctx context.Context, namespace, value string) (dibs.Resolution, error)
}

// Config configures which names are in URLs, and where.
type Config struct {
	// Namespace is the namespace of the names. It must not be a blind one, whose values do
	// not belong in URLs.
	Namespace string
	// NamespaceOf returns the namespace of a request, for example by the tenant's host. Nil
	// means Namespace; exactly one of the two must be set. A request for which it returns an
	// invalid namespace gets 404.
	NamespaceOf func(*http.Request) string

	// Prefix is the path before the name, such as "/w/", or "/*/w/", where "*" is any one
	// segment. Empty means "/": the name is the first segment.
	Prefix string
	// Value returns the name in a request, and false for a request without one. Nil means the
	// segment after Prefix.
	Value func(*http.Request) (value string, ok bool)
	// Location returns the URL of the same request with another name. If it returns an empty
	// string, the client gets 404. It must be set if and only if Value is.
	Location func(r *http.Request, canonical string) string
	// AnySpelling passes requests for every spelling of a name to the application. False
	// means that spellings other than the canonical one are redirected.
	AnySpelling bool

	// MaxStale is how long a cache may keep a response, in whole seconds. Zero means that
	// caches must revalidate every time.
	MaxStale time.Duration

	// NotFound handles requests for names that lead nowhere. Nil means a plain 404.
	NotFound http.Handler
	// Gone handles requests for names that led somewhere before. Nil means a plain 410.
	Gone http.Handler
	// Unavailable handles requests for names that cannot be resolved now. Retry-After is set
	// before it is called. Nil means a plain 503.
	Unavailable http.Handler

	// Logger logs why a name cannot be resolved. Nil means [slog.Default].
	Logger *slog.Logger
}

// withDefaults checks the configuration and returns it with every zero field filled in.
func (c Config) withDefaults() (Config, error) {
	switch {
	case (c.Namespace == "") == (c.NamespaceOf == nil):
		return c, errors.New("dibshttp: set one of Namespace and NamespaceOf")
	case (c.Value == nil) != (c.Location == nil):
		return c, errors.New("dibshttp: set both of Value and Location, or none: they describe the same place in the URL")
	case c.Value != nil && c.Prefix != "":
		return c, errors.New("dibshttp: Prefix and Value are both set: set one of them")
	case c.MaxStale < 0:
		return c, fmt.Errorf("dibshttp: MaxStale is %s, it must not be negative", c.MaxStale)
	}
	if c.NamespaceOf == nil {
		namespace := c.Namespace
		c.NamespaceOf = func(*http.Request) string { return namespace }
	}
	if c.Value == nil {
		prefix, err := redirect.ParsePrefix(c.Prefix)
		if err != nil {
			return c, fmt.Errorf("dibshttp: %w", err)
		}
		c.Value, c.Location = inPath(prefix)
	}
	c.NotFound = orPlain(c.NotFound, http.StatusNotFound)
	c.Gone = orPlain(c.Gone, http.StatusGone)
	c.Unavailable = orPlain(c.Unavailable, http.StatusServiceUnavailable)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c, nil
}

// inPath returns Value and Location for names in the path.
func inPath(prefix redirect.Prefix) (value func(*http.Request) (string, bool), location func(*http.Request, string) string) {
	value = func(r *http.Request) (string, bool) {
		found, ok := prefix.Find(r.URL.EscapedPath())
		return found.Value, ok
	}
	location = func(r *http.Request, canonical string) string {
		found, _ := prefix.Find(r.URL.EscapedPath())
		path, ok := found.Replace(canonical)
		if ok && (r.URL.RawQuery != "" || r.URL.ForceQuery) {
			path += "?" + r.URL.RawQuery
		}
		return path
	}
	return value, location
}

// orPlain returns the handler, or for nil one that sends the status and its text.
func orPlain(handler http.Handler, status int) http.Handler {
	if handler != nil {
		return handler
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, http.StatusText(status), status) })
}

// checkNamespace checks that names of a namespace may be in URLs, if the resolver knows its
// policy.
func checkNamespace(names Resolver, namespace string) error {
	registry, ok := names.(interface {
		Policy(namespace string) (dibs.Policy, error)
	})
	if !ok || namespace == "" {
		return nil
	}
	policy, err := registry.Policy(namespace)
	switch {
	case errors.Is(err, dibs.ErrUnsupported): // the policies are on a server
		return nil
	case err != nil:
		return fmt.Errorf("dibshttp: %w", err)
	case len(policy.Blind) > 0:
		return fmt.Errorf("dibshttp: namespace %s is blind: its values do not belong in URLs", namespace)
	}
	return nil
}

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
	w.Header().Set("Retry-After", "1")
	n.cfg.Unavailable.ServeHTTP(w, r)
}
