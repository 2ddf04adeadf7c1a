package dibshttp

import (
	"context"
	"errors"
	"net/http"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/redirect"
)

// retryAfter is when to come again if the registry could not be reached, in seconds.
const retryAfter = "1"

// Match is the name that a request is for.
type Match struct {
	Namespace string
	Value     string // as it stands in the URL
	Canonical string
	Entity    dibs.Entity // whose name it is
}

type matchKey struct{}

// FromContext returns the name that a request is for, and false where there was none in
// it.
func FromContext(ctx context.Context) (Match, bool) {
	match, ok := ctx.Value(matchKey{}).(Match)
	return match, ok
}

// Names finds the names in requests. It is safe for concurrent use. Make one with [New].
type Names struct {
	resolver Resolver
	cfg      Config
}

// New returns Names that are looked up in a registry.
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

// Wrap returns a handler that hands requests for present names to the application, and
// answers all others by itself. Requests without a name go to the application, too.
func (n *Names) Wrap(application http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		value, ok := n.cfg.Value(r)
		if !ok {
			application.ServeHTTP(w, r)
			return
		}
		namespace := n.cfg.NamespaceOf(r)
		found, err := n.resolver.Resolve(r.Context(), namespace, value)
		out := &capped{ResponseWriter: w, limit: limitOf(max(0, n.cfg.MaxStale-found.Age)), request: r}
		defer out.finish()
		switch {
		case errors.Is(err, dibs.ErrInvalidValue), errors.Is(err, dibs.ErrInvalidNamespace) && n.cfg.Namespace == "":
			n.answer(out, r, n.cfg.NotFound) // nobody can have it
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
			n.answer(out, r, n.cfg.Gone)
		default:
			n.answer(out, r, n.cfg.NotFound)
		}
	})
}

// redirect leads to the URL with another name in it. It is not [http.Redirect], which
// would clean up the rest of the path.
func (n *Names) redirect(w *capped, r *http.Request, status int, canonical string) {
	location := n.cfg.Location(r, canonical)
	if location == "" {
		n.answer(w, r, n.cfg.NotFound)
		return
	}
	w.Header().Set("Location", location)
	w.Header().Set("Cache-Control", w.limit.own())
	w.WriteHeader(redirect.Status(status, r.Method))
}

// answer lets a handler answer what may be kept like a name.
func (n *Names) answer(w *capped, r *http.Request, handler http.Handler) {
	w.Header().Set("Cache-Control", w.limit.own())
	handler.ServeHTTP(w, r)
}

// fail answers where nobody can tell. What is wrong is for the log: an error may say
// more about the registry than visitors should know.
func (n *Names) fail(w *capped, r *http.Request, err error) {
	if r.Context().Err() == nil { // otherwise the client is gone, or out of patience
		n.cfg.Logger.ErrorContext(r.Context(), "a name could not be resolved", "error", err)
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Retry-After", retryAfter)
	n.cfg.Unavailable.ServeHTTP(w, r)
}
