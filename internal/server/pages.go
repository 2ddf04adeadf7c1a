package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/swaggest/swgui/v5/static"
	"github.com/vearutop/statigz"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/health"
)

// registerPages adds what is not part of the API: health, metrics and web pages.
func (s *Server) registerPages() {
	s.page("GET /healthz", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, status{Status: "up"}) }))
	s.page("GET /readyz", http.HandlerFunc(s.ready))
	s.page("GET /metrics", s.needs(access.Stats, s.cfg.Metrics.Handler()))
	s.webPages()
}

// page adds a route that is not part of the API.
func (s *Server) page(pattern string, handler http.Handler) {
	s.handle(pattern, func(x *exchange, r *http.Request) { handler.ServeHTTP(x, r) })
}

// needs demands a right for a page that is not part of the API.
func (s *Server) needs(verb access.Verb, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, p := s.signIn(r, s.limits.proxies.Visitor(r))
		if p == nil && !caller.May(verb, allNamespaces) {
			p = s.forbidden(verb, "in all namespaces")
		}
		if p != nil {
			writeProblem(w, p)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func writeJSON(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

var (
	//go:embed index.html
	indexPage string
	//go:embed docs.html
	docsPage string
	//go:embed docs.js
	docsScript string
)

const htmlType, scriptType = "text/html; charset=utf-8", "text/javascript; charset=utf-8"

// webPages adds the pages for browsers: the dashboard or a start page, and the API's documentation.
func (s *Server) webPages() {
	s.descriptions()
	text := func(contentType, policy, content string) http.Handler {
		return inBrowser(policy, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			_, _ = w.Write([]byte(content))
		}))
	}
	page := func(pattern, contentType, policy, content string) {
		s.page(pattern, text(contentType, policy, content))
	}
	start := inBrowser("style-src "+hashOf(between(indexPage, "<style>", "</style>")), http.HandlerFunc(s.startPage))
	if s.cfg.Dashboard != nil {
		start = s.dashboard(start)
	}
	s.page("GET /{$}", start)
	// The page has no inline script or style, so that the policy can forbid both. The interface
	// has images in its style sheet, and calls this server.
	page("GET /docs/{$}", htmlType, "script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'", docsPage)
	page("GET /docs/start.js", scriptType, "", docsScript)
	s.page("GET /docs/", inBrowser("", asset(http.StripPrefix("/docs/", statigz.FileServer(static.FS)))))
	s.page("GET /docs", http.RedirectHandler("/docs/", http.StatusFound))
}

// startPage serves examples that work from where the visitor is. It is no template: package
// html/template calls methods by name, and the linker would keep every method of every type: 5 MB.
func (s *Server) startPage(w http.ResponseWriter, r *http.Request) {
	page, key := indexPage, ` -H "Authorization: Bearer $DIBS_KEY"`
	if !s.needsKey(r.Context()) {
		page, key = strings.Replace(page, between(page, "<!-- with a key -->", "<!-- always -->"), "", 1), ""
	}
	w.Header().Set("Content-Type", htmlType)
	_, _ = strings.NewReplacer(
		"{URL}", html.EscapeString(s.visitedURL(r)), "{KEY}", html.EscapeString(key),
		"<!-- with a key -->", "", "<!-- always -->\n", "",
	).WriteString(w, page)
}

// needsKey reports whether a request without credentials is refused.
func (s *Server) needsKey(ctx context.Context) bool {
	if s.cfg.Authenticate == nil {
		return false
	}
	_, err := s.cfg.Authenticate(ctx, "")
	return err != nil
}

// plainHost matches a host, with or without a port, that means nothing to a shell.
var plainHost = regexp.MustCompile(`^[A-Za-z0-9._:\[\]-]{1,255}$`)

// visitedURL returns the URL of the server as a visitor sees it. Only a trusted proxy can say that
// it is another one than the request's own.
func (s *Server) visitedURL(r *http.Request) string {
	scheme, host := "http", r.Host
	if r.TLS != nil {
		scheme = "https"
	}
	if s.limits.proxies.Visitor(r).Proxy {
		if r.Header.Get("X-Forwarded-Proto") == "https" {
			scheme = "https"
		}
		host = cmp.Or(r.Header.Get("X-Forwarded-Host"), host)
	}
	if !plainHost.MatchString(host) {
		host = "localhost"
	}
	return scheme + "://" + host
}

// descriptions adds the OpenAPI documents, in the formats that tools want. Each is rendered at its
// first request, when all calls are registered.
func (s *Server) descriptions() {
	document := func(path, contentType string, render func() ([]byte, error)) {
		text := sync.OnceValues(render)
		s.page("GET "+path, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			body, err := text()
			if err != nil {
				writeProblem(w, s.problemOf(err))
				return
			}
			w.Header().Set("Content-Type", contentType)
			_, _ = w.Write(body)
		}))
	}
	api := sync.OnceValue(s.description)
	document("/openapi.json", "application/openapi+json", func() ([]byte, error) { return json.Marshal(api()) })
	document("/openapi-3.0.json", "application/openapi+json", func() ([]byte, error) { return api().Downgrade() })
	document("/openapi.yaml", "application/openapi+yaml", func() ([]byte, error) { return api().YAML() })
	document("/openapi-3.0.yaml", "application/openapi+yaml", func() ([]byte, error) { return api().DowngradeYAML() })
}

// inBrowser adds security headers: a page may do only what the policy allows, in no frame, and
// without a referrer to other sites.
func inBrowser(policy string, next http.Handler) http.Handler {
	const always = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	if policy != "" {
		policy = "; " + policy
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", always+policy)
		h.Set("X-Frame-Options", "DENY") // for browsers without frame-ancestors
		h.Set("Referrer-Policy", "no-referrer")
		next.ServeHTTP(w, r)
	})
}

// asset serves a file of another library, and turns its errors into problems. It refuses clients
// that do not accept gzip. The files are stored compressed, and decompressing takes ten times as
// long as sending: no browser needs it, and an anonymous client could keep the server busy.
func asset(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			writeProblem(w, newProblem(http.StatusNotAcceptable, codeOf(http.StatusNotAcceptable),
				"this file is only available compressed: send the header \"Accept-Encoding: gzip\""))
			return
		}
		out := &errorFilter{ResponseWriter: w}
		next.ServeHTTP(out, r)
		if out.status != 0 {
			w.Header().Del("Content-Length")
			w.Header().Del("Content-Encoding")
			text := http.StatusText(out.status)
			writeProblem(w, newProblem(out.status, codeOf(out.status), strings.ToLower(text)+": see /docs for all paths"))
		}
	})
}

// errorFilter drops responses that are errors, and keeps their status.
type errorFilter struct {
	http.ResponseWriter
	status int // of an error
}

func (e *errorFilter) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		e.status = status
		return
	}
	e.ResponseWriter.WriteHeader(status)
}

func (e *errorFilter) Write(b []byte) (int, error) {
	if e.status != 0 {
		return len(b), nil
	}
	return e.ResponseWriter.Write(b)
}

// hashOf returns the source by which a content security policy allows an inline text.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func between(text, from, to string) string {
	_, rest, _ := strings.Cut(text, from)
	middle, _, _ := strings.Cut(rest, to)
	return middle
}

const pingTimeout = 2 * time.Second

type status struct {
	Status string        `json:"status"`
	Stores []storeStatus `json:"stores,omitempty"` // those that are not writable
}

type storeStatus struct {
	Store  string     `json:"store"`
	Reads  bool       `json:"reads"`
	Writes bool       `json:"writes"`
	Cause  dibs.Cause `json:"cause,omitempty"`
}

// ready answers /readyz: 200 if the engine answers and is writable, and the server is not
// draining. With ?reads the engine need not be writable. Of several stores one is enough: a 503
// would make its names unavailable too.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	if s.draining.Load() {
		s.notReady(w, "the server is shutting down", "")
		return
	}
	states, err := s.storeStates(r.Context())
	if err != nil {
		s.notReady(w, "the store does not answer", health.CauseOf(err))
		return
	}
	onlyReads := r.URL.Query().Has("reads")
	works := len(states) == 0
	answer := status{Status: "ready"}
	for _, state := range states {
		works = works || state.Writes || onlyReads && state.Reads
		if !state.Writes {
			answer.Stores = append(answer.Stores, storeStatus{storeLabel(state), state.Reads, state.Writes, state.Cause})
		}
	}
	if !works {
		s.notReady(w, "the store cannot be written to", answer.Stores[0].Cause)
		return
	}
	writeJSON(w, answer)
}

func (s *Server) notReady(w http.ResponseWriter, what string, cause dibs.Cause) {
	if cause != "" {
		what += ": " + string(cause)
	}
	p := newProblem(http.StatusServiceUnavailable, string(dibs.CodeUnavailable), what)
	p.Cause = string(cause)
	writeProblem(w, p)
}

// storeStates pings the engine, and returns the state of its stores. Concurrent requests share
// one ping: /readyz takes no key, and must not keep the engine busy.
func (s *Server) storeStates(ctx context.Context) ([]health.State, error) {
	states, err, _ := s.pings.Do("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTimeout)
		defer cancel()
		if err := health.Ping(ctx, s.cfg.Store); err != nil {
			if s.cfg.Health == nil { // otherwise Health logs it
				s.warn(byPing, "the engine does not answer", "pings", "error", err)
			}
			return []health.State(nil), err
		}
		return s.cfg.Health.States(ctx), nil
	})
	return states.([]health.State), err
}

// storeLabel returns the name of a store; "default" if it has none.
func storeLabel(s health.State) string { return cmp.Or(s.Store, "default") }
