package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/limit"
)

// perHour returns a rate that does not refill while a test runs.
func perHour(n int) limit.Rate { return limit.Rate{N: n, Per: time.Hour} }

// limited sets limits. This machine is a trusted proxy, so that a test can choose its address.
func limited(l limit.Limits) func(*Config) {
	l.Proxies = limit.Proxies{Header: limit.XForwardedFor, Trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	return func(c *Config) { c.Limits = l }
}

// people returns callers with all rights, by name.
func people(names ...string) map[string]access.Caller {
	callers := make(map[string]access.Caller)
	for _, name := range names {
		callers[name] = access.Caller{Name: name, Grants: access.Everything.Grants}
	}
	return callers
}

// as returns the headers of a request with a key, and from an address if it is not empty.
func as(key, address string) http.Header {
	h := make(http.Header)
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
	if address != "" {
		h.Set("X-Forwarded-For", address)
	}
	return h
}

// wantLimited fails unless a response is 429 with Retry-After.
func (r *rig) wantLimited(res reply, text, policy string) {
	r.Helper()
	var p struct{ Code, Detail string }
	if err := json.Unmarshal([]byte(text), &p); err != nil || res.status != http.StatusTooManyRequests || p.Code != "TOO_MANY_REQUESTS" {
		r.Fatalf("%d %s", res.status, text)
	}
	wait, err := strconv.Atoi(res.header.Get("Retry-After"))
	if err != nil || wait < 1 || wait > 3600 || !strings.Contains(p.Detail, fmt.Sprintf("in %d s", wait)) {
		r.Errorf("Retry-After is %q, and it says %q", res.header.Get("Retry-After"), p.Detail)
	}
	if got := res.header.Get("RateLimit"); !strings.HasPrefix(got, `"`+policy+`";r=0;t=`) {
		r.Errorf("RateLimit is %s, want that of %s", got, policy)
	}
}

// Each call counts against its own limit and its own caller only.
func TestLimitsOfPrincipals(t *testing.T) {
	t.Parallel()
	notRaced(t)
	r := newRig(t, inMemory, people("ann", "bob"), limited(limit.Limits{Reads: perHour(10), Writes: perHour(32), Checks: perHour(100)}))
	doc := readDocument(r)
	values := func(n int) string { return `["` + strings.Repeat(`v", "`, n-1) + `v"]` }
	reservations := func(n int) string {
		return strings.Repeat(`{"namespace": "slug", "value": "v"}, `, n-1) + `{"namespace": "slug", "value": "v"}`
	}
	reserveAll := func(n int) string { return `{"op": "reserveAll", "reservations": [` + reservations(n) + `]}` }
	for _, c := range []struct {
		route, path, body, policy string
		left                      int // for ann after the call
		most                      int
	}{
		{"GET /v1/names/{namespace}/{value}", "/v1/names/slug/a", "", "reads", 9, 10},
		{"POST /v1/names/lookup", "/v1/names/lookup", `{"namespace": "slug", "value": "a"}`, "reads", 9, 10},
		{"GET /v1/names", "/v1/names?limit=900", "", "reads", 0, 10},
		{"GET /v1/events", "/v1/events?limit=500", "", "reads", 4, 10},
		{"POST /v1/claims", "/v1/claims", `{"namespace": "slug", "value": "x", "entity": {"type": "t", "id": "1"}}`, "writes", 31, 32},
		{"POST /v1/reservations/first", "/v1/reservations/first", `{"namespace": "slug", "values": ` + values(10) + `}`, "writes", 22, 32},
		{"POST /v1/reservations/batch", "/v1/reservations/batch", `{"reservations": [` + reservations(32) + `]}`, "writes", 0, 32},
		{"POST /v1/apply", "/v1/apply", `{"commands": [{"op": "rekey"}, {"op": "rekey"}]}`, "writes", 30, 32},
		{"POST /v1/apply", "/v1/apply", `{"dryRun": true, "commands": [` + strings.Repeat(`{"op": "rekey"}, `, 25) + `{"op": "rekey"}]}`, "checks", 75, 100},
		{"POST /v1/apply", "/v1/apply", `{"commands": [` + reserveAll(10) + `, ` + reserveAll(5) + `, {"op": "rekey"}]}`, "writes", 16, 32},
		{"POST /v1/apply", "/v1/apply", `{"commands": [{"op": "reserveFirst", "namespace": "slug", "values": ` + values(10) + `}]}`, "writes", 22, 32},
		{"POST /v1/apply", "/v1/apply", `{"dryRun": true, "commands": [` + reserveAll(26) + `]}`, "checks", 75, 100},
		// A cost above the limit counts as the whole limit.
		{"POST /v1/apply", "/v1/apply", `{"commands": [` + reserveAll(32) + `, ` + reserveAll(32) + `]}`, "writes", 0, 32},
		{"POST /v1/forget", "/v1/forget", `{"dryRun": true, "entity": {"type": "t", "id": "1"}}`, "writes", 0, 32},
		{"POST /v1/forget", "/v1/forget", `{"dryRun": true, "namespace": "slug", "value": "v"}`, "writes", 31, 32},
		{"GET /v1/check/{namespace}/{value}", "/v1/check/slug/a", "", "checks", 99, 100},
		{"POST /v1/check", "/v1/check", `{"namespace": "slug", "values": ` + values(40) + `}`, "checks", 60, 100},
		{"POST /v1/check", "/v1/check", `{"namespace": "slug", "values": ` + values(100) + `}`, "checks", 0, 100},
	} {
		t.Run(c.route, func(t *testing.T) {
			r := &rig{TB: t, server: r.server, http: r.http, client: r.client, log: r.log}
			r.server.limits = newLimits(r.server.cfg.Limits) // start with full limits
			method, _, _ := strings.Cut(c.route, " ")
			res, text := r.send(method, c.path, as("ann", ""), c.body)
			if res.status == http.StatusTooManyRequests {
				t.Fatalf("the first is %s", text)
			}
			if got := res.header.Get("RateLimit-Policy"); got != fmt.Sprintf(`"%s";q=%d;w=3600`, c.policy, c.most) {
				t.Errorf("RateLimit-Policy: %s", got)
			}
			if got, want := res.header.Get("RateLimit"), fmt.Sprintf(`"%s";r=%d;t=`, c.policy, c.left); !strings.HasPrefix(got, want) {
				t.Errorf("RateLimit: %s, want %s…", got, want)
			}
			cost := max(1, c.most-c.left)
			for range c.left / cost {
				if res, text := r.send(method, c.path, as("ann", ""), c.body); res.status == http.StatusTooManyRequests {
					t.Fatalf("too early: %s", text)
				}
			}
			if c.left%cost == 0 {
				res, text = r.send(method, c.path, as("ann", ""), c.body)
				r.wantLimited(res, text, c.policy)
				doc.checkAnswer(t, c.route, res, text)
			}
			if res, text := r.send(method, c.path, as("bob", ""), c.body); res.status == http.StatusTooManyRequests {
				t.Errorf("bob is limited by ann's calls: %s", text)
			}
		})
	}
	if r.metric(`dibs_requests_limited_total{reason="principal"}`) == 0 || r.metric(`dibs_requests_limited_total{reason="bulk"}`) == 0 {
		t.Error("it was not counted")
	}
}

// A call over the limit does nothing.
func TestLimitedCallsDoNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, people("ann"), limited(limit.Limits{Writes: perHour(32)}))
	batch := func(word string, n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{"namespace": "slug", "value": "%s-%d"}`, word, i))
		}
		return `{"reservations": [` + strings.Join(list, ", ") + `]}`
	}
	if res, text := r.send(http.MethodPost, "/v1/reservations/batch", as("ann", ""), batch("first", 20)); res.status != http.StatusCreated {
		t.Fatal(text)
	}
	if res, text := r.send(http.MethodPost, "/v1/reservations/batch", as("ann", ""), batch("second", 20)); res.status != http.StatusTooManyRequests {
		t.Errorf("%d %s", res.status, text)
	}
	for word, want := range map[string]int{"first": http.StatusOK, "second": http.StatusNotFound} {
		if res, _ := r.send(http.MethodGet, "/v1/names/slug/"+word+"-0", as("ann", ""), ""); res.status != want {
			t.Errorf("%s is %d", word, res.status)
		}
	}
}

// Addresses are counted before authentication; a proxy's own address is not.
func TestLimitsOfAddresses(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, people("ann", "bob"), limited(limit.Limits{PerAddress: perHour(3)}))
	get := func(path, key, address string) (reply, string) {
		return r.send(http.MethodGet, path, as(key, address), "")
	}
	for i, path := range []string{"/v1/names/slug/a", "/v1/nothing", "/docs/"} {
		res, text := get(path, "ann", "198.51.100.9, 203.0.113.1")
		var left, seconds int
		_, err := fmt.Sscanf(res.header.Get("RateLimit"), `"address";r=%d;t=%d`, &left, &seconds)
		if full := 1200 * (i + 1); err != nil || left != 2-i || seconds > full || seconds < full-60 { // the limit refills meanwhile
			t.Errorf("%s: %v %s", path, res.header, text)
		}
	}
	for _, path := range []string{"/v1/names/slug/a", "/v1/nothing", "/docs/", "/openapi.json"} {
		res, text := get(path, "bob", "203.0.113.1") // whatever the key
		r.wantLimited(res, text, "address")
	}
	// A forged address before the proxy's entry does not help.
	res, text := get("/v1/names/slug/a", "ann", "192.0.2.99, 203.0.113.1")
	r.wantLimited(res, text, "address")
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		if res, text := get(path, "ann", "203.0.113.1"); res.status != http.StatusOK {
			t.Errorf("%s: %d %s", path, res.status, text)
		}
	}
	for range 10 { // another address, and the proxy itself
		if res, text := get("/v1/names/slug/a", "ann", ""); res.status != http.StatusNotFound {
			t.Fatalf("%d %s", res.status, text)
		}
	}
	if res, text := get("/v1/names/slug/a", "ann", "203.0.113.2"); res.status != http.StatusNotFound {
		t.Errorf("%d %s", res.status, text)
	}
	// An IPv6 network counts as one address.
	for i := range 4 {
		res, text = get("/v1/names/slug/a", "ann", fmt.Sprintf("2001:db8::%x", i+1))
	}
	r.wantLimited(res, text, "address")
}

// A proxy resolves for its visitors: each visitor is counted by its address, if the proxy sends
// it, and never as the proxy.
func TestProxiesAreNotTheirVisitors(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, people("proxy"), limited(limit.Limits{Reads: perHour(10), PerAddress: perHour(20)}))
	ask := func(address string) int {
		h := as("proxy", address)
		h.Set("X-Forwarded-Uri", "/a")
		res, _ := r.send(http.MethodGet, "/v1/resolve?namespace=slug", h, "")
		return res.status
	}
	for i := range 50 {
		if status := ask(""); status != http.StatusNotFound {
			t.Fatalf("call %d of the proxy is %d", i, status)
		}
	}
	for i := range 20 {
		if status := ask("203.0.113.1"); status != http.StatusNotFound {
			t.Fatalf("call %d for a visitor is %d", i, status)
		}
	}
	if ask("203.0.113.1") != http.StatusTooManyRequests || ask("203.0.113.2") != http.StatusNotFound {
		t.Error("visitors are not counted separately")
	}
	// Other calls with the proxy's key are counted.
	for range 10 {
		r.send(http.MethodGet, "/v1/names/slug/a", as("proxy", ""), "")
	}
	res, text := r.send(http.MethodGet, "/v1/names/slug/a", as("proxy", ""), "")
	r.wantLimited(res, text, "reads")
}

// An untrusted proxy is counted like any other caller.
func TestUntrustedProxiesAreCounted(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, people("ann"), func(c *Config) { c.Limits.Reads = perHour(10) })
	var res reply
	var text string
	for range 11 {
		h := as("ann", "203.0.113.1")
		h.Set("X-Forwarded-Uri", "/a")
		res, text = r.send(http.MethodGet, "/v1/resolve?namespace=slug", h, "")
	}
	r.wantLimited(res, text, "reads")
}

// After too many failed sign-ins an address is rejected, except with credentials that it used
// successfully before.
func TestLimitsOfSigningIn(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, people("ann", "bob"), limited(limit.Limits{SignIn: perHour(5)}))
	const home = "203.0.113.1"
	get := func(path, key, address string) (reply, string) {
		return r.send(http.MethodGet, path, as(key, address), "")
	}
	if res, text := get("/v1/names/slug/a", "ann", home); res.status != http.StatusNotFound {
		t.Fatal(text)
	}
	for i := range 5 {
		key := []string{"guess", ""}[i%2]
		if res, text := get([]string{"/v1/names", "/metrics"}[i%2], key, home); res.status != http.StatusUnauthorized {
			t.Fatalf("%d %s", res.status, text)
		}
	}
	denied := r.denied()
	for _, key := range []string{"guess", "", "another", "bob"} {
		res, text := get("/v1/names", key, home)
		r.wantLimited(res, text, "signIn")
	}
	if r.denied() != denied {
		t.Error("a rejected request was authenticated")
	}
	for _, c := range []struct {
		key, address string
		want         int
	}{
		{"ann", home, http.StatusOK},                      // as before
		{"bob", "203.0.113.2", http.StatusOK},             // a neighbour
		{"guess", "203.0.113.2", http.StatusUnauthorized}, // with its own count
		{"guess", "", http.StatusUnauthorized},            // the proxy itself
		{"bob", home, http.StatusTooManyRequests},         // bob has not signed in from there
		{"ann", "203.0.113.3", http.StatusOK},
	} {
		if res, text := get("/v1/names", c.key, c.address); res.status != c.want {
			t.Errorf("%+v: %d %s", c, res.status, text)
		}
	}
	if got := r.metric(`dibs_requests_limited_total{reason="signin"}`); got != 5 {
		t.Errorf("%v were counted", got)
	}
}

// Without a key or an address there is nothing to count by, and no limit.
func TestNoLimitsForUnknownCallers(t *testing.T) {
	t.Parallel()
	tight := limit.Limits{Reads: perHour(10), Writes: perHour(32), Checks: perHour(100), PerAddress: perHour(1), SignIn: perHour(1)}
	r := newRig(t, inMemory, nil, func(c *Config) { c.Limits = tight })
	for i := range 200 {
		if res, text := r.send(http.MethodGet, "/v1/check/slug/a", nil, ""); res.status != http.StatusOK || res.header.Get("RateLimit") != "" {
			t.Fatalf("call %d: %d %v %s", i, res.status, res.header, text)
		}
	}
}

// The log repeats a message about rejected requests only every few seconds.
func TestRejectionsInTheLog(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, people("ann"), limited(limit.Limits{Reads: perHour(10)}))
	begin := time.Now()
	for range 60 {
		r.send(http.MethodGet, "/v1/names/slug/a", as("ann", ""), "")
	}
	most := 1 + int(time.Since(begin)/logEvery)
	if got := strings.Count(r.log.String(), "requests rejected"); got < 1 || got > most {
		t.Errorf("it is logged %d times, want at most %d", got, most)
	}
	now, n := time.Now(), new(logLimiter)
	var logged []int
	for i := range 25 {
		if count := n.add(byQueue, now.Add(time.Duration(i)*time.Second)); count > 0 {
			logged = append(logged, count)
		}
	}
	if fmt.Sprint(logged) != "[1 10 10]" {
		t.Errorf("it logs %v", logged)
	}
}
