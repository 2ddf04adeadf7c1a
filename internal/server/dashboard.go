package server

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// dashboardPolicy lets the dashboard load its own files and call this server. It has no inline
// script or style.
const dashboardPolicy = "script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'"

// file is a file of the dashboard, in memory.
type file struct {
	contentType string
	etag        string // of the content
	content     []byte
	compressed  []byte // with gzip, at build time; nil if it is not worth it
	cache       string // Cache-Control
}

// fileTypes are the types of files by extension. Those of package mime depend on the machine.
var fileTypes = map[string]string{
	".html": htmlType, ".js": scriptType, ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
	".png": "image/png", ".ico": "image/x-icon", ".woff2": "font/woff2", ".json": "application/json", ".txt": "text/plain; charset=utf-8",
}

// loadFiles reads the files of a dashboard: index.html, assets with names that change with their
// content, and for some a compressed copy with the extension .gz.
func loadFiles(from fs.FS) (map[string]*file, error) {
	files := make(map[string]*file)
	err := fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(name, ".gz") {
			return err
		}
		f := &file{contentType: fileTypes[path.Ext(name)], cache: "no-cache"}
		if f.contentType == "" {
			return fmt.Errorf("the dashboard's %s has an unknown type", name)
		}
		if strings.HasPrefix(name, "assets/") {
			f.cache = "public, max-age=31536000, immutable"
		}
		if f.content, err = fs.ReadFile(from, name); err != nil {
			return err
		}
		sum := sha256.Sum256(f.content)
		f.etag = hex.EncodeToString(sum[:12])
		f.compressed, _ = fs.ReadFile(from, name+".gz")
		files["/"+name] = f
		return nil
	})
	if err == nil && files["/index.html"] == nil {
		err = errors.New("the dashboard has no index.html")
	}
	return files, err
}

// dashboard adds the dashboard: its page at /, and its other files. A program that does not accept
// HTML gets the start page.
func (s *Server) dashboard(startPage http.Handler) http.Handler {
	files, err := loadFiles(s.cfg.Dashboard)
	if err != nil {
		s.cfg.Logger.Error("no dashboard", "error", err)
		return startPage
	}
	s.page("GET /assets/{file}", inBrowser("", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f := files[r.URL.Path]; f != nil {
			f.serve(w, r)
			return
		}
		writeProblem(w, newProblem(http.StatusNotFound, "NOT_FOUND", "no such file: reload the page, which may be of another version"))
	})))
	index := inBrowser(dashboardPolicy, http.HandlerFunc(files["/index.html"].serve))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept")
		if acceptsHTML(r) {
			index.ServeHTTP(w, r)
		} else {
			startPage.ServeHTTP(w, r)
		}
	})
}

// acceptsHTML reports whether a request is of a browser. Programs such as curl take anything, and can
// read the start page.
func acceptsHTML(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

// serve answers with the file, compressed if the client accepts that.
func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	h, content, etag := w.Header(), f.content, f.etag
	if f.compressed != nil {
		h.Add("Vary", "Accept-Encoding")
		if acceptsGzip(r) {
			content, etag = f.compressed, etag+"-gz"
			h.Set("Content-Encoding", "gzip")
		}
	}
	etag = `"` + etag + `"`
	h.Set("ETag", etag)
	h.Set("Cache-Control", f.cache)
	if matches(r.Header.Get("If-None-Match"), etag) {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", f.contentType)
	h.Set("Content-Length", strconv.Itoa(len(content)))
	_, _ = w.Write(content)
}

// acceptsGzip reports whether a request accepts gzip, and has not excluded it with a weight of 0.
func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		coding, weight, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.TrimSpace(coding) == "gzip" {
			q, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(weight), "q="), 64)
			return err != nil || q > 0
		}
	}
	return false
}

// matches reports whether a list of tags in If-None-Match has one of them.
func matches(list, etag string) bool {
	for tag := range strings.SplitSeq(list, ",") {
		if tag = strings.TrimSpace(tag); tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
			return true
		}
	}
	return false
}
