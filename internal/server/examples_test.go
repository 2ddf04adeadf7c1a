package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/limit"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/profile"
)

// TestExamples plays the examples of the document on a real server, and compares its answers with
// those that the document shows.
func TestExamples(t *testing.T) {
	t.Parallel()
	notRaced(t)
	r := newRecorder(t)
	text, err := os.ReadFile("testdata/examples.http")
	if err != nil {
		t.Fatal(err)
	}
	steps, err := parseScript(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		if err := r.step(s); err != nil {
			t.Fatalf("examples.http:%d %s: %v", s.line, s.title, err)
		}
	}
	r.stream()
	r.recorded.Problems = commonProblems(t)
	got, err := json.MarshalIndent(r.recorded, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile("examples.json", got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile("examples.json"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("examples.json is not what the server answers (%v): run go test ./internal/server -run TestExamples -update, "+
			"look at the difference, and then update clients/openapi.json\n%s", err, firstDifference(string(want), string(got)))
	}
}

// firstDifference returns the first lines in which two texts differ.
func firstDifference(want, got string) string {
	wants, gots := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(wants), len(gots)) {
		if wants[i] != gots[i] {
			return fmt.Sprintf("line %d\nthe file:   %s\nthe server: %s", i+1, wants[i], gots[i])
		}
	}
	return fmt.Sprintf("%d and %d lines", len(wants), len(gots))
}

// exampleCallers are one with a key, and one without that has all rights.
var exampleCallers = map[string]access.Caller{
	"": access.Everything,
	"key-checkout": {Name: "checkout", Grants: []access.Grant{
		{Verbs: []access.Verb{access.Hold, access.Read}, Namespaces: []string{"slug", "acme.*"}},
	}},
}

// recorder plays steps on a server with a clock of its own, and records the examples.
type recorder struct {
	*player
	now      *atomic.Int64 // milliseconds
	recorded examples
}

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	now := new(atomic.Int64)
	now.Store(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixMilli())
	onClock := engine{"clock", func(testing.TB) dibs.Store {
		return memstore.New(memstore.Config{Now: func() time.Time { return time.UnixMilli(now.Load()) }})
	}}
	rig := newRig(t, onClock, exampleCallers, func(c *Config) {
		c.Version, c.Stores = "0.1.0", []StoreInfo{{Engine: "mem"}}
		c.PolicyNames = func() []string { return []string{"page", "username"} }
		c.Limits = limit.Limits{Reads: limit.Rate{N: 100_000, Per: time.Second}, MaxInFlight: 256, MaxWaiting: 1024, MaxWait: time.Minute}
	})
	r := &recorder{
		player:   &player{rig: rig, doc: readDocument(rig), captured: make(captured), receivers: make(map[string]*receiver)},
		now:      now,
		recorded: examples{Calls: make(map[string]callExamples)},
	}
	r.seen = &coverage{operations: make(map[string]bool), codes: make(map[string]bool)}
	r.setPolicies(dibs.Exact)
	r.deliver()
	return r
}

// setPolicies sets the policies of the examples.
func (r *recorder) setPolicies(code dibs.Profile) {
	policies := profile.Policies()
	maps.Copy(policies, map[string]dibs.Policy{
		"order":    {MinTTL: time.Second, Witness: undecided},
		"campaign": {Profile: profile.Slug{}, RedirectStatus: http.StatusFound},
		"form":     {Profile: profile.Slug{}, RedirectStatus: http.StatusTemporaryRedirect},
		"upload":   {Profile: profile.Slug{}, RedirectStatus: http.StatusPermanentRedirect},
		"page":     {Profile: profile.Slug{}, Quarantine: 30 * 24 * time.Hour},
		"code":     {Profile: code},
	})
	if err := r.registry.SetPolicies(policies, dibs.Policy{}); err != nil {
		r.Fatal(err)
	}
}

// step plays a step and records it. Besides those of scenarios, it knows the lines "@ wait 2s", which
// moves the clock, "@ code becomes slug", and "@ dead 2", which waits for dead letters.
func (r *recorder) step(s *step) error {
	switch what, rest, _ := strings.Cut(s.command, " "); what {
	case "":
	case "wait":
		d, err := time.ParseDuration(rest)
		r.now.Add(d.Milliseconds())
		return err
	case "code":
		r.setPolicies(map[string]dibs.Profile{"becomes slug": profile.Slug{}, "becomes exact": dibs.Exact}[rest])
		return nil
	case "dead":
		return r.awaitDead(rest)
	default:
		return r.direct(s.command)
	}
	if err := r.exchange(s); err != nil || s.title == "setup" {
		return err
	}
	return r.record(s)
}

// awaitDead waits for dead letters, while the clock moves on. Then it is ten minutes later, however
// long that took.
func (r *recorder) awaitDead(letters string) error {
	n, err := strconv.Atoi(letters)
	end := r.now.Load() + 10*time.Minute.Milliseconds()
	eventually(r, "there are dead letters", func() bool {
		if r.now.Load() < end {
			r.now.Add(time.Second.Milliseconds())
		}
		_, text := r.send(http.MethodGet, webhooksPath+"/"+r.captured["hook"]+"/deadletters", nil, "")
		return strings.Count(text, `"dl_`) == n
	})
	r.now.Store(end)
	return err
}

// record records the request of a step, and the answer to it.
func (r *recorder) record(s *step) error {
	path, body := r.captured.fill(s.path), r.captured.fill(s.body)
	req, err := http.NewRequest(s.method, r.http.URL+path, nil)
	if err != nil {
		return err
	}
	_, route := r.server.mux.Handler(req)
	op, ok := r.doc.operation(route)
	if !ok {
		return fmt.Errorf("%s is not a call of the API", route)
	}
	call := r.recorded.Calls[op.OperationID]
	if call.Responses == nil {
		call = callExamples{Parameters: parameters(route, req.URL), Requests: make(map[string]*huma.Example), Responses: make(map[string]map[string]map[string]*huma.Example)}
	}
	name := exampleName(s.title)
	if s.body != "" {
		call.Requests[name] = exampleOf(s.title, r.steady(body))
	}
	mediaType := r.last.header.Get("Content-Type")
	byType := call.Responses[s.status]
	if byType == nil {
		byType = make(map[string]map[string]*huma.Example)
		call.Responses[s.status] = byType
	}
	if byType[mediaType] == nil {
		byType[mediaType] = make(map[string]*huma.Example)
	}
	byType[mediaType][name] = exampleOf(s.title, r.steady(r.lastText))
	r.recorded.Calls[op.OperationID] = call
	return nil
}

// parameters returns the parameters of a path, and those of a query.
func parameters(route string, u *url.URL) map[string]string {
	_, pattern, _ := strings.Cut(route, " ")
	values := make(map[string]string)
	segments := strings.Split(u.Path, "/")
	for i, part := range strings.Split(pattern, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			values[strings.TrimSuffix(name, "}")] = steadyIDs(segments[i])
		}
	}
	for name, list := range u.Query() {
		values[name] = list[0]
	}
	return values
}

// exampleName turns a summary into a name: "No such name" into "noSuchName".
func exampleName(summary string) string {
	var name strings.Builder
	for i, word := range regexp.MustCompile(`[A-Za-z0-9]+`).FindAllString(summary, -1) {
		if i == 0 {
			name.WriteString(strings.ToLower(word))
		} else {
			name.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return name.String()
}

func exampleOf(summary, text string) *huma.Example {
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		value = text
	}
	return &huma.Example{Summary: summary, Value: value}
}

// steadyTexts replace what differs between runs.
var steadyTexts = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`http://127\.0\.0\.1:\d+`), "https://shop.example.com/dibs"},
	{regexp.MustCompile(`whsec_[A-Za-z0-9+/=]{44}`), "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="},
	{regexp.MustCompile(`dibs_[a-z2-7]{8}_[a-z2-7]{44}`), "dibs_k7pq2mzx_" + strings.Repeat("abcdefghijk", 4)},
	{regexp.MustCompile(`"prefix":"[a-z2-7]{8}"`), `"prefix":"k7pq2mzx"`},
	{regexp.MustCompile(`"(tookMs|failed|waiting|lagMs)":\d+`), `"$1":0`},
	{regexp.MustCompile(`^{"since":"[^"]*","names"`), `{"since":"2026-03-01T12:00:00.000Z","names"`}, // of contested names
	{regexp.MustCompile(`"attempts":\d+`), `"attempts":3`},
	{regexp.MustCompile(`("delivered":(?:true|false),.*)"at":"[^"]*"`), `$1"at":"2026-03-01T12:00:02.000Z"`},
	{regexp.MustCompile(`"(takenAt|start|startedAt|deadAt|lastSuccess|lastFailure|oldestAt)":"[^"]*"`), `"$1":"2026-03-01T12:00:00.000Z"`},
}

func steadyIDs(text string) string {
	return regexp.MustCompile(`wh_[a-z2-7]{20}`).ReplaceAllStringFunc(text, func(id string) string {
		if id == "wh_aaaaaaaaaaaaaaaaaaaa" {
			return id
		}
		return "wh_3lqmk5h7wzy2c4fgtu6x"
	})
}

func (r *recorder) steady(text string) string {
	for _, s := range steadyTexts {
		text = s.pattern.ReplaceAllString(text, s.with)
	}
	return steadyIDs(text)
}

// stream records the first messages of the stream of events.
func (r *recorder) stream() {
	r.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.http.URL+eventsPath, nil)
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	res, err := r.client.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var text strings.Builder
	for buffer := make([]byte, 1); strings.Count(text.String(), "\n\n") < 2; {
		if _, err := res.Body.Read(buffer); err != nil && err != io.EOF {
			r.Fatal(err)
		}
		text.Write(buffer)
	}
	const title = "The first two messages of a stream"
	r.recorded.Calls["events"].Responses["200"]["text/event-stream"] = map[string]*huma.Example{exampleName(title): exampleOf(title, text.String())}
}

// commonProblems records the problems that many calls can have.
func commonProblems(t *testing.T) map[string]*huma.Example {
	t.Helper()
	open, keyed := newRig(t, inMemory, nil), newRig(t, inMemory, scriptCallers)
	narrow := newRig(t, inMemory, scriptCallers, func(c *Config) { c.Limits.Reads = limit.Rate{N: 1, Per: time.Minute} })
	reader := http.Header{"Authorization": {"Bearer key-reader"}}
	found := make(map[string]*huma.Example)
	add := func(title string, r *rig, method, path string, header http.Header, body string) {
		t.Helper()
		res, text := r.send(method, path, header, body)
		text = regexp.MustCompile(`in \d+ s`).ReplaceAllString(text, "in 60 s")
		found[fmt.Sprint(res.status)] = exampleOf(title, text)
	}
	const reserve = "/v1/reservations"
	add("The body is not JSON", open, http.MethodPost, reserve, nil, `{"namespace": "slug", `)
	add("No key", keyed, http.MethodPost, reserve, nil, `{"namespace": "slug", "value": "alice"}`)
	add("The key lacks the right", keyed, http.MethodPost, reserve, reader, `{"namespace": "slug", "value": "alice"}`)
	add("The body is too large", open, http.MethodPost, reserve, nil, `{"namespace": "slug", "value": "`+strings.Repeat("a", 2<<20)+`"}`)
	add("The body is not sent as JSON", open, http.MethodPost, reserve, http.Header{"Content-Type": {"text/plain"}}, "alice")
	add("A member that the call does not have", open, http.MethodPost, reserve, nil, `{"namespace": "slug", "value": "alice", "valeu": "alice"}`)
	narrow.send(http.MethodGet, "/v1/names/slug/alice", reader, "")
	add("Too many requests of one caller", narrow, http.MethodGet, "/v1/names/slug/alice", reader, "")
	open.store.mode.Store(listsNothing)
	add("A fault of the server, which its log explains", open, http.MethodGet, "/v1/names", nil, "")
	open.store.mode.Store(outOfReach)
	add("The database cannot be reached; nothing happened", open, http.MethodPost, reserve, nil, `{"namespace": "slug", "value": "alice"}`)
	found["408"] = slowBody(t)
	for status, example := range found {
		if problem, ok := example.Value.(map[string]any); !ok || fmt.Sprint(problem["status"]) != status {
			t.Errorf("%s: %v", status, example.Value)
		}
	}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, anywhere) {
		t.Errorf("recorded %v, want %v", got, anywhere)
	}
	return found
}

// slowBody sends a body that does not arrive.
func slowBody(t *testing.T) (found *huma.Example) {
	t.Helper()
	withTimeouts(t, 200*time.Millisecond, func(timeout time.Duration) error {
		r := newRig(t, inMemory, nil, func(c *Config) { c.RequestTimeout = timeout })
		_, text, err := halfSent(r.raw(), "POST /v1/claims HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
		found = exampleOf("The body does not arrive in time", text)
		return err
	})
	return found
}
