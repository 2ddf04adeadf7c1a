package dibshttp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/redirect"
)

// Resolver says where a name leads. A [dibs.Registry] is one.
type Resolver interface {
	Resolve(ctx context.Context, namespace, value string) (dibs.Resolution, error)
}

var _ Resolver = (*dibs.Registry)(nil)

// Config says which names stand in URLs, and where.
type Config struct {
	// Namespace is that of the names. It must not be a blind one: its values do not
	// belong in URLs.
	Namespace string
	// NamespaceOf is for namespaces that depend on the request, such as those of tenants
	// by host. Nil means Namespace; one of the two must be set. A request for which it
	// returns no well-formed namespace is 404.
	NamespaceOf func(*http.Request) string

	// Prefix is the path behind which the name stands, such as "/w/", or "/*/w/", where
	// "*" is any one segment. Empty means "/": the name is the first segment.
	Prefix string
	// Value returns the name that a request is for, and false where there is none in it.
	// Nil means the segment behind Prefix.
	Value func(*http.Request) (value string, ok bool)
	// Location returns the URL of the same request with another name in it. It must be
	// set if and only if Value is. Empty means that it has none: 404.
	Location func(r *http.Request, canonical string) string
	// AnySpelling lets the application answer for every spelling of a name. False means
	// that all but the canonical one are redirected.
	AnySpelling bool

	// MaxStale is how long anybody may keep an answer, in whole seconds. Zero means that
	// nobody uses one without asking.
	MaxStale time.Duration

	// NotFound answers for names that lead nowhere; nil means a plain 404.
	NotFound http.Handler
	// Gone answers for names that led somewhere once; nil means a plain 410.
	Gone http.Handler
	// Unavailable answers where nobody can tell; nil means a plain 503. Retry-After is
	// set before it is called.
	Unavailable http.Handler

	// Logger is told why nobody can tell. Nil means [slog.Default].
	Logger *slog.Logger
}

// withDefaults returns the configuration with everything set, or says what is wrong.
func (c Config) withDefaults() (Config, error) {
	switch {
	case (c.Namespace == "") == (c.NamespaceOf == nil):
		return c, errors.New("dibshttp: set one of Namespace and NamespaceOf")
	case (c.Value == nil) != (c.Location == nil):
		return c, errors.New("dibshttp: set both of Value and Location, or none: who says where a name stands also says where another would")
	case c.Value != nil && c.Prefix != "":
		return c, errors.New("dibshttp: Prefix says where a name stands, and so does Value: set one of them")
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
	if c.NotFound == nil {
		c.NotFound = plain(http.StatusNotFound)
	}
	if c.Gone == nil {
		c.Gone = plain(http.StatusGone)
	}
	if c.Unavailable == nil {
		c.Unavailable = plain(http.StatusServiceUnavailable)
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
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

// plain answers with a status and its name.
func plain(status int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, http.StatusText(status), status) })
}

// checkNamespace looks whether a namespace is one whose names can stand in URLs, as far as
// the resolver can tell.
func checkNamespace(names Resolver, namespace string) error {
	keeper, ok := names.(interface {
		Policy(namespace string) (dibs.Policy, error)
	})
	if !ok || namespace == "" {
		return nil
	}
	policy, err := keeper.Policy(namespace)
	switch {
	case errors.Is(err, dibs.ErrUnsupported): // a server keeps them
		return nil
	case err != nil:
		return fmt.Errorf("dibshttp: %w", err)
	case len(policy.Blind) > 0:
		return fmt.Errorf("dibshttp: values of %s are not to be seen, and do not belong in URLs", namespace)
	}
	return nil
}
