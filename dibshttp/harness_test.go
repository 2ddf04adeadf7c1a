package dibshttp_test

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/core"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsclient"
	"github.com/calldibs/dibs/dibshttp"
	"github.com/calldibs/dibs/internal/server"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/profile"
)

// newRegistry returns a registry in memory with these names:
//
//	the-smiths of wedding/42, formerly alice-bob
//	y of the types found and temp, formerly x, with 302 and 307
//	closed and archived, which are gone, and hidden, which is not found
func newRegistry(tb testing.TB) (*dibs.Registry, dibs.Store) {
	tb.Helper()
	policies := profile.Policies()
	policies["found"] = dibs.Policy{RedirectStatus: http.StatusFound}
	policies["temp"] = dibs.Policy{RedirectStatus: http.StatusTemporaryRedirect}
	policies["kept"] = dibs.Policy{Profile: profile.Slug{}, Quarantine: time.Hour, ArchivedStatus: http.StatusGone}
	policies["exact"] = dibs.Policy{}
	policies["secret"] = dibs.Policy{Blind: []dibs.BlindKey{{ID: "k", Secret: []byte(strings.Repeat("k", 32))}}}
	store := memstore.New(memstore.Config{})
	reg, err := core.Open(store, dibs.Config{Policies: policies})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = reg.Close() })
	entity := func(id string) dibs.Entity { return dibs.Entity{Type: "wedding", ID: id} }
	_, err = reg.Apply(tb.Context(),
		dibs.Claim{Namespace: "slug", Value: "alice-bob", Entity: entity("42")},
		dibs.Rename{Namespace: "slug", Value: "the-smiths", Entity: entity("42")},
		dibs.Claim{Namespace: "acme.slug", Value: "alice-bob", Entity: entity("7")},
		dibs.Claim{Namespace: "found", Value: "x", Entity: entity("1")}, dibs.Rename{Namespace: "found", Value: "y", Entity: entity("1")},
		dibs.Claim{Namespace: "temp", Value: "x", Entity: entity("1")}, dibs.Rename{Namespace: "temp", Value: "y", Entity: entity("1")},
		dibs.Claim{Namespace: "exact", Value: "a/b", Entity: entity("1")}, dibs.Rename{Namespace: "exact", Value: "/évil.com", Entity: entity("1")},
		dibs.Claim{Namespace: "exact", Value: "dots", Entity: entity("2")}, dibs.Rename{Namespace: "exact", Value: "..", Entity: entity("2")},
		dibs.Claim{Namespace: "kept", Value: "closed", Entity: entity("3")},
		dibs.Decommission{Namespace: "kept", Value: "closed", Entity: entity("3")},
		dibs.Claim{Namespace: "kept", Value: "archived", Entity: entity("4")},
		dibs.Claim{Namespace: "slug", Value: "hidden", Entity: entity("4")},
		dibs.Archive{Entity: entity("4")},
		dibs.Reserve{Namespace: "slug", Value: "held"},
	)
	if err != nil {
		tb.Fatal(err)
	}
	return reg, store
}

// remote returns a client of a server with the registry.
func remote(tb testing.TB, reg *dibs.Registry, store dibs.Store) *dibs.Registry {
	tb.Helper()
	web := httptest.NewServer(server.New(server.Config{Registry: reg, Store: store}))
	tb.Cleanup(web.Close)
	client, err := dibsclient.Dial(web.URL, dibsclient.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

// site serves an application behind the middleware.
func site(tb testing.TB, names dibshttp.Resolver, cfg dibshttp.Config, application http.Handler) (url string) {
	tb.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	n, err := dibshttp.New(names, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	web := httptest.NewServer(n.Wrap(application))
	tb.Cleanup(web.Close)
	return web.URL
}

// page is an application that shows the match.
var page = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	match, ok := dibshttp.FromContext(r.Context())
	fmt.Fprintf(w, "%v %s %s %s %s", ok, match.Namespace, match.Value, match.Canonical, match.Entity)
})

// fetched is a response.
type fetched struct {
	status int
	header http.Header
	body   string
}

var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func fetch(tb testing.TB, method, url string, header http.Header) fetched {
	tb.Helper()
	req, err := http.NewRequestWithContext(tb.Context(), method, url, http.NoBody)
	if err != nil {
		tb.Fatal(err)
	}
	maps.Copy(req.Header, header)
	if host := header.Get("Host"); host != "" {
		req.Host = host
	}
	res, err := client.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return fetched{res.StatusCode, res.Header, string(text)}
}
