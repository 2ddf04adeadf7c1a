//go:build unix

package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibscache"
	"github.com/calldibs/dibs/internal/figures"
	"github.com/calldibs/dibs/internal/server"
)

// resolvers is the number of connections of S7.
const resolvers = 64

// resolveOverHTTP is S7: the overhead of the server compared with a handler that returns
// the same bytes.
func resolveOverHTTP(l *lab) []row {
	measure := func(c contender) reading {
		return l.load(c, resolvers, func(string) error {
			won, err := c.reserve(resolvedName)
			if err == nil && !won {
				err = errTaken
			}
			return err
		}).perSecond()
	}
	rates := l.takeTurns(l.turn(resolvingServer, measure), l.turn(cachingServer, measure), l.turn(resolvingHandler, measure))
	return []row{
		{what: "resolve over HTTP, 64 connections", unit: figures.PerSecond, ours: rates[0], against: sameBytes, peer: rates[2], want: atLeast(0.7)},
		{what: "the same from the cache, with maxStale", unit: figures.PerSecond, ours: rates[1], against: sameBytes, peer: rates[2], want: atLeast(0.85)},
	}
}

// reserveOverHTTP is S8: the server on an embedded file against a handler with a plain
// table in PostgreSQL.
func reserveOverHTTP(l *lab) []row {
	ours, peer := l.compare(reservingServer, reservingHandler, l.reserveRate)
	return []row{{what: "reserve over HTTP on SQLite, 256 connections", unit: figures.PerSecond, ours: ours, against: bareHandler, peer: peer, want: atLeast(2)}}
}

var (
	sameBytes   = peer{is: "net/http handler, same bytes", lacks: "everything: it answers every request with one text"}
	bareHandler = peer{is: "net/http handler with the bare statement on PostgreSQL", lacks: bare.lacks + "; no limits, no metrics, no rights"}
)

const resolvedName = "the-one-that-is-asked-for"

// remote is a contender behind HTTP: the request, and the status of a success.
type remote struct {
	server  *httptest.Server
	inside  contender // nil if there is none
	request func(name string) string
	yes     int

	mu   sync.Mutex
	idle []*wireConn
}

func serveRemote(handler http.Handler, inside contender, yes int, request func(name string) string) *remote {
	return &remote{server: httptest.NewServer(handler), inside: inside, yes: yes, request: request}
}

// resolvingServer is Dibs; it resolves one name.
func resolvingServer(l *lab) contender {
	l.Helper()
	inside, handler := serverOnSQLite(l)
	return resolving(l, inside, handler)
}

// cachingServer is Dibs with maxStale; it does the same.
func cachingServer(l *lab) contender {
	l.Helper()
	inside, _ := serverOnSQLite(l)
	const maxStale = 5 * time.Second
	cache, err := dibscache.New(inside.Registry, dibscache.Config{MaxStale: maxStale})
	l.must(err)
	remove := inside.remove
	inside.remove = func() {
		l.must(cache.Close())
		remove()
	}
	return resolving(l, inside, server.New(server.Config{Registry: inside.Registry, Cache: cache, MaxStale: maxStale}))
}

func resolving(l *lab, inside *registry, handler http.Handler) contender {
	l.Helper()
	_, err := inside.Claim(context.Background(), dibs.Claim{Namespace: namespace, Value: resolvedName, Entity: dibs.Entity{Type: "user", ID: "1"}})
	l.must(err)
	return serveRemote(handler, inside, http.StatusOK, getResolved)
}

func getResolved(name string) string {
	return "GET /v1/resolve/" + namespace + "/" + name + " HTTP/1.1\r\nHost: localhost\r\n\r\n"
}

// resolvingHandler returns the same answer as Dibs, without Dibs.
func resolvingHandler(l *lab) contender {
	l.Helper()
	inside, handler := serverOnSQLite(l)
	_, err := inside.Claim(context.Background(), dibs.Claim{Namespace: namespace, Value: resolvedName, Entity: dibs.Entity{Type: "user", ID: "1"}})
	l.must(err)
	seen := httptest.NewRecorder()
	handler.ServeHTTP(seen, httptest.NewRequest(http.MethodGet, "/v1/resolve/"+namespace+"/"+resolvedName, nil))
	inside.close()
	body := seen.Body.Bytes()
	return serveRemote(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		maps.Copy(w.Header(), seen.Header())
		_, _ = w.Write(body)
	}), nil, http.StatusOK, getResolved)
}

// reservingServer is Dibs on an SQLite file, behind HTTP.
func reservingServer(l *lab) contender {
	l.Helper()
	inside, handler := serverOnSQLite(l)
	return serveRemote(handler, inside, http.StatusCreated, func(name string) string {
		return post("/v1/reservations", `{"namespace": "`+namespace+`", "value": "`+name+`"}`)
	})
}

// reservingHandler is a program without a registry, behind HTTP.
func reservingHandler(l *lab) contender {
	l.Helper()
	table := plainOnPostgres(l)
	return serveRemote(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, err := io.ReadAll(r.Body)
		won := false
		if err == nil {
			won, err = table.reserve(string(name))
		}
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		case !won:
			w.WriteHeader(http.StatusConflict)
		default:
			w.WriteHeader(http.StatusCreated)
		}
	}), table, http.StatusCreated, func(name string) string { return post("/", name) })
}

func post(path, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
}

func serverOnSQLite(l *lab) (*registry, http.Handler) {
	l.Helper()
	inside := dibsOnSQLite(l).(*registry)
	return inside, server.New(server.Config{Registry: inside.Registry, Store: nil})
}

func (r *remote) processes() []int {
	if inside, ok := r.inside.(hosted); ok {
		return inside.processes()
	}
	return nil
}

func (r *remote) close() {
	for _, c := range r.idle {
		_ = c.Close()
	}
	r.server.Close()
	if r.inside != nil {
		r.inside.close()
	}
}

// reserve sends the request and reports whether it succeeded.
func (r *remote) reserve(name string) (bool, error) {
	c, err := r.take()
	if err != nil {
		return false, err
	}
	status, err := c.ask(r.request(name))
	if err != nil {
		_ = c.Close()
		return false, err
	}
	r.mu.Lock()
	r.idle = append(r.idle, c)
	r.mu.Unlock()
	return status == r.yes, nil
}

func (r *remote) take() (*wireConn, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.idle); n > 0 {
		c := r.idle[n-1]
		r.idle = r.idle[:n-1]
		return c, nil
	}
	conn, err := net.Dial("tcp", r.server.Listener.Addr().String())
	if err != nil {
		return nil, err
	}
	return &wireConn{Conn: conn, in: bufio.NewReader(conn)}, nil
}

// wireConn is a minimal client: it shares the processors with the server.
type wireConn struct {
	net.Conn
	in *bufio.Reader
}

func (c *wireConn) ask(request string) (status int, err error) {
	if _, err := io.WriteString(c, request); err != nil {
		return 0, err
	}
	length := 0
	for first := true; ; first = false {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		text := strings.TrimRight(string(line), "\r\n")
		switch {
		case first:
			if status, err = strconv.Atoi(text[9:12]); err != nil {
				return 0, err
			}
		case text == "":
			_, err := c.in.Discard(length)
			return status, err
		default:
			if value, ok := strings.CutPrefix(text, "Content-Length: "); ok {
				if length, err = strconv.Atoi(value); err != nil {
					return 0, err
				}
			}
		}
	}
}
