package proxytest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// entity is what the application gets of the only entity.
const entity = `["wedding"] ["42%20%C3%BC"]`

// The requests of visitors: method and target.
var (
	// The application gets these unchanged, with the entity.
	passed = []string{
		"GET /w/the-smiths",
		"GET /w/the-smiths/photos/a%2Fb?page=2&q=%20+",
		"POST /w/the-smiths/guests",
		"GET /w/the%2Dsmiths",
	}

	// These are redirected, with 301 if the method is GET or HEAD, else with 308.
	redirected = map[string]string{
		"GET /w/alice-bob":      "/w/the-smiths",
		"HEAD /w/alice-bob":     "/w/the-smiths",
		"POST /w/alice-bob":     "/w/the-smiths",
		"DELETE /w/alice-bob/x": "/w/the-smiths/x",
		"GET /w/alice-bob/w/alice-bob/a%2Fb%20c?to=/w/alice-bob&q=%2f+": "/w/the-smiths/w/alice-bob/a%2Fb%20c?to=/w/alice-bob&q=%2f+",
		"GET /w/alice-bob/%C3%BC?%C3%BC":                                "/w/the-smiths/%C3%BC?%C3%BC",
		"GET /w/alice-bob/\xc3\xbc":                                     "/w/the-smiths/%C3%BC",
		"GET /w/Alice%20%26%20Bob":                                      "/w/the-smiths",
		"GET /w/The%20Smiths/x?y":                                       "/w/the-smiths/x?y",
		"GET /w/%EF%BC%B4he-smiths":                                     "/w/the-smiths", // a fullwidth T
		"GET http://evil.com/w/alice-bob?x":                             "/w/the-smiths?x",
	}

	absent = []string{
		"GET /w/nobody",
		"GET /w/m%C3%BCller",
		"GET /w/%ff",
		"GET /w/",
		"GET /w/alice-bob/../nobody",
		"GET /w/alice-bob/%2e%2e/nobody",
		"GET /w//evil.com/alice-bob",
		"GET /w/%5Cevil.com",
		"GET /w%2Fthe-smiths", // another path after normalization
		"GET //w/the-smiths",
		"GET /w/the-smiths;x=y",
	}

	gone = []string{"GET /w/closed", "PUT /w/closed"}
)

// checkAll checks a proxy with Dibs, with a closed engine, and without Dibs.
func checkAll(t *testing.T, r *rig, url string) {
	t.Helper()
	visit(t, r, url)
	if err := r.registry.Close(); err != nil {
		t.Fatal(err)
	}
	checkAway(t, "the engine is closed", url)
	r.dibs.Close()
	checkAway(t, "Dibs is gone", url)
}

// visit checks the answers to all requests behind a proxy.
func visit(t *testing.T, r *rig, url string) {
	t.Helper()
	for _, request := range passed {
		got := checkAnswer(t, url, request, http.StatusOK, "")
		if want := request + " " + entity; !strings.HasPrefix(got.body, want) {
			t.Errorf("%s shows the application %q, want %q", request, got.body, want)
		}
	}
	for request, location := range redirected {
		status := http.StatusPermanentRedirect
		if strings.HasPrefix(request, "GET ") || strings.HasPrefix(request, "HEAD ") {
			status = http.StatusMovedPermanently
		}
		checkAnswer(t, url, request, status, location)
	}
	for _, request := range absent {
		checkAnswer(t, url, request, http.StatusNotFound, "")
	}
	for _, request := range gone {
		checkAnswer(t, url, request, http.StatusGone, "")
	}
	checkForged(t, url)
	checkBodies(t, url)
	checkAsked(t, r)
}

// checkAnswer sends a request and checks the status, Location and Cache-Control of the answer.
func checkAnswer(t *testing.T, url, request string, status int, location string) answer {
	t.Helper()
	got := send(t, url, request, "", "")
	if to := got.header.Get("Location"); got.status != status || to != location {
		t.Errorf("%s is %d to %q, want %d to %q\n%s", request, got.status, to, status, location, got.body)
	}
	if cache := got.header.Get("Cache-Control"); status != http.StatusOK && cache != "max-age=60, must-revalidate" {
		t.Errorf("%s has the Cache-Control %q", request, cache)
	}
	return got
}

// checkForged demands that only Dibs names the entity of a name.
func checkForged(t *testing.T, url string) {
	t.Helper()
	forged := "Dibs-Entity-Id: 1\r\nDibs-Entity-Type: admin\r\nDibs-Status: 200\r\nX-Forwarded-Uri: /w/the-smiths\r\n" +
		"X-Forwarded-Method: PUT\r\nAuthorization: Basic visitor\r\nCookie: session=secret\r\n"
	if got := send(t, url, "GET /w/the-smiths", forged, ""); !strings.Contains(got.body, entity+` "Basic visitor"`) {
		t.Errorf("the application sees %q", got.body)
	}
	if got := send(t, url, "GET /w/nobody", forged, ""); got.status != http.StatusNotFound {
		t.Errorf("a forged header makes it %d", got.status)
	}
	if got := send(t, url, "GET /w/alice-bob", forged, ""); got.status != http.StatusMovedPermanently {
		t.Errorf("a forged method makes it %d", got.status)
	}
}

// checkAsked demands that Dibs gets nothing of a visitor's request but its target.
func checkAsked(t *testing.T, r *rig) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, asked := range r.asked {
		h := asked.Header
		if h.Get("Cookie") != "" || h.Get("Authorization") != "Bearer "+r.key || len(h.Values("X-Forwarded-Uri")) != 1 || asked.ContentLength != 0 {
			t.Errorf("Dibs was sent %v and %d bytes", h, asked.ContentLength)
		}
	}
}

// checkBodies demands that bodies reach the application, and do not disturb other answers.
func checkBodies(t *testing.T, url string) {
	t.Helper()
	form := "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 5\r\n"
	if got := send(t, url, "POST /w/the-smiths", form, "a=b&c"); got.status != http.StatusOK || !strings.HasSuffix(got.body, "a=b&c") {
		t.Errorf("a form is %d %q", got.status, got.body)
	}
	if got := send(t, url, "POST /w/alice-bob", form, "a=b&c"); got.status != http.StatusPermanentRedirect {
		t.Errorf("a form for an old name is %d", got.status)
	}
	if got := send(t, url, "POST /w/nobody", form, "a=b&c"); got.status != http.StatusNotFound {
		t.Errorf("a form for an unknown name is %d", got.status)
	}
}

// checkAway demands 503 for any failure between proxy and Dibs.
func checkAway(t *testing.T, what, url string) {
	t.Helper()
	for _, name := range []string{"the-smiths", "alice-bob", "nobody"} {
		got := send(t, url, "GET /w/"+name, "", "")
		if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") != "1" || strings.Contains(got.body, "key") {
			t.Errorf("%s: %s is %d %v %q", what, name, got.status, got.header, got.body)
		}
	}
}

// answer is what a visitor gets.
type answer struct {
	status int
	header http.Header
	body   string
}

// send sends a request byte for byte, without the normalization of a client.
func send(t *testing.T, url, request, headers, body string) answer {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n%s\r\n%s", request, headers, body)
	method, _, _ := strings.Cut(request, " ")
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%s: %v", request, err)
	}
	defer func() { _ = res.Body.Close() }() // it was read
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s: %v", request, err)
	}
	return answer{res.StatusCode, res.Header, string(text)}
}
