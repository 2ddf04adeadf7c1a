package server

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"sync"

	"github.com/swaggest/swgui"
	"github.com/swaggest/swgui/v5emb"
)

var (
	//go:embed index.html
	indexPage string
	//go:embed docs.html
	docsPage string
	//go:embed docs.js
	docsScript string
)

const htmlType, scriptType = "text/html; charset=utf-8", "text/javascript; charset=utf-8"

// webPages are what people look at in a browser: an index, and the API's description.
func (s *Server) webPages() {
	s.descriptions()
	page := func(pattern, contentType, policy, content string) {
		s.mux.Handle(pattern, inBrowser(policy, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			_, _ = w.Write([]byte(content))
		})))
	}
	page("GET /{$}", htmlType, "style-src "+hashOf(between(indexPage, "<style>", "</style>")), indexPage)
	// No script and no style stands in the page itself, so that the policy can forbid them there.
	// The interface has images in its style sheet, and calls this server.
	page("GET /docs/{$}", htmlType, "script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'", docsPage)
	page("GET /docs/start.js", scriptType, "", docsScript)
	s.mux.Handle("GET /docs/", inBrowser("", onlyCompressed(asProblems(v5emb.NewHandlerWithConfig(swgui.Config{BasePath: "/docs/", InternalBasePath: "/docs/"})))))
	s.mux.Handle("GET /docs", http.RedirectHandler("/docs/", http.StatusFound))
}

// descriptions are the API's own description, in the ways that tools want it. Each is made
// when it is first asked for, once all calls are known.
func (s *Server) descriptions() {
	document := func(path, contentType string, render func() ([]byte, error)) {
		text := sync.OnceValues(render)
		s.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			body, err := text()
			if err != nil {
				writeProblem(w, s.problemOf(err))
				return
			}
			w.Header().Set("Content-Type", contentType)
			_, _ = w.Write(body)
		})
	}
	api := s.api.OpenAPI()
	document("/openapi.json", "application/openapi+json", func() ([]byte, error) { return json.Marshal(api) })
	document("/openapi-3.0.json", "application/openapi+json", api.Downgrade)
	document("/openapi.yaml", "application/openapi+yaml", api.YAML)
	document("/openapi-3.0.yaml", "application/openapi+yaml", api.DowngradeYAML)
}

// inBrowser tells browsers what a page may do: only what the policy says, in no frame, and
// without telling other sites where a visitor comes from.
func inBrowser(policy string, next http.Handler) http.Handler {
	const always = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	if policy != "" {
		policy = "; " + policy
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", always+policy)
		h.Set("X-Frame-Options", "DENY") // for browsers that do not know frame-ancestors
		h.Set("Referrer-Policy", "no-referrer")
		next.ServeHTTP(w, r)
	})
}

// onlyCompressed refuses clients that do not take gzip. The files are kept so, and to unpack
// them takes ten times as long as to send them: no browser needs that, and a stranger could
// keep the server busy by it.
func onlyCompressed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			writeProblem(w, newProblem(http.StatusNotAcceptable, codeOf(http.StatusNotAcceptable),
				"this file is sent compressed, and in no other way: send the header \"Accept-Encoding: gzip\""))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// asProblems makes errors of a handler that is not ours problems, like everything else.
func asProblems(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := &errorsAside{ResponseWriter: w}
		next.ServeHTTP(out, r)
		if out.status != 0 {
			h := w.Header()
			h.Del("Content-Length")
			h.Del("Content-Encoding")
			text := http.StatusText(out.status)
			writeProblem(w, newProblem(out.status, codeOf(out.status), strings.ToLower(text)+": /docs lists what there is"))
		}
	})
}

// errorsAside keeps back answers that are errors.
type errorsAside struct {
	http.ResponseWriter
	status int // of an error
}

func (e *errorsAside) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		e.status = status
		return
	}
	e.ResponseWriter.WriteHeader(status)
}

func (e *errorsAside) Write(b []byte) (int, error) {
	if e.status != 0 {
		return len(b), nil
	}
	return e.ResponseWriter.Write(b)
}

// hashOf is how a content security policy names a text that may stand in a page.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// between returns what stands between two texts.
func between(text, from, to string) string {
	_, rest, _ := strings.Cut(text, from)
	middle, _, _ := strings.Cut(rest, to)
	return middle
}
