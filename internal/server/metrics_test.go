package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
)

// family is one metric of /metrics.
type family struct {
	help, kind string
	samples    map[string]float64 // by name and labels, as they are written
}

var sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{.*\})? (\S+)$`)

// metrics parses the server's metrics strictly, without authentication.
func (r *rig) metrics() map[string]*family {
	r.Helper()
	answer := httptest.NewRecorder()
	r.server.cfg.Metrics.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	families := make(map[string]*family)
	var now *family
	for line := range strings.Lines(answer.Body.String()) {
		line = strings.TrimSuffix(line, "\n")
		switch words := strings.SplitN(line, " ", 4); {
		case strings.HasPrefix(line, "# HELP "):
			now = &family{help: words[3], samples: make(map[string]float64)}
			families[words[2]] = now
		case strings.HasPrefix(line, "# TYPE "):
			now.kind = words[3]
		default:
			m := sampleLine.FindStringSubmatch(line)
			if m == nil {
				r.Fatalf("not a line of the text format: %s", line)
			}
			value, err := strconv.ParseFloat(m[3], 64)
			if err != nil {
				r.Fatal(err)
			}
			now.samples[m[1]+m[2]] = value
		}
	}
	return families
}

// metric returns the value of a counter or gauge, or the count of a histogram, by name
// and labels: dibs_commands_total{outcome="ok",verb="reserve"}.
func (r *rig) metric(name string) float64 {
	r.Helper()
	bare, labels, _ := strings.Cut(name, "{")
	f := r.metrics()[bare]
	if f == nil {
		return 0
	}
	if f.kind == "histogram" {
		name = strings.TrimSuffix(bare+"_count{"+labels, "{")
	}
	return f.samples[name]
}

// denied returns how many requests were denied, for all reasons.
func (r *rig) denied() (total float64) {
	r.Helper()
	for _, n := range r.metrics()["dibs_http_denied_total"].samples {
		total += n
	}
	return total
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	for _, e := range engines() {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			checkMetrics(newRig(t, e, nil))
		})
	}
}

// checkMetrics sends requests of several kinds, and checks that each is counted.
func checkMetrics(r *rig) {
	r.Helper()
	post := func(path, body string) { r.send(http.MethodPost, path, nil, body) }
	events := openStream(r, "/v1/events", "")
	post("/v1/reservations", `{"namespace": "slug", "value": "a"}`)
	post("/v1/reservations", `{"namespace": "slug", "value": "a"}`)
	post("/v1/apply", `{"commands": [{"op": "claim", "namespace": "slug", "value": "b", "entity": {"type": "t", "id": "1"}}, {"op": "archive", "entity": {"type": "t", "id": "1"}}]}`)
	post("/v1/apply", `{"dryRun": true, "commands": [{"op": "restore", "entity": {"type": "t", "id": "1"}}]}`)
	post("/v1/reservations/"+dibs.NameID("slug", "a").String()+"/release", `{"token": "not-the-token-of-a"}`)
	post("/v1/sweep", `{}`)
	post("/nowhere", ``)
	events.next()
	for name, want := range map[string]float64{
		`dibs_commands_total{outcome="ok",verb="reserve"}`:                     1,
		`dibs_commands_total{outcome="name_taken",verb="reserve"}`:             1,
		`dibs_commands_total{outcome="reservation_lost",verb="release"}`:       1,
		`dibs_conflicts_total{reason="held"}`:                                  1,
		`dibs_commands_total{outcome="ok",verb="apply"}`:                       1,
		`dibs_commands_total{outcome="ok",verb="dry_run"}`:                     1,
		`dibs_command_seconds{verb="reserve"}`:                                 2,
		`dibs_http_requests_total{route="POST /v1/reservations",status="201"}`: 1,
		`dibs_http_requests_total{route="POST /v1/reservations",status="409"}`: 1,
		`dibs_http_requests_total{route="none",status="404"}`:                  1,
		`dibs_http_request_seconds{route="POST /v1/reservations"}`:             2,
		`dibs_sweep_seconds`:                         1,
		`dibs_feed_lag_seconds`:                      3,
		`dibs_feed_streams`:                          1,
		`dibs_http_denied_total{reason="forbidden"}`: 0,
	} {
		// A request is counted after its response.
		eventually(r, fmt.Sprintf("%s is %v", name, want), func() bool { return r.metric(name) == want })
	}
	eventually(r, "a hold is counted", func() bool { return r.metric(`dibs_names{state="held"}`) == 1 })
	families := r.metrics()
	for name, kind := range map[string]string{
		"dibs_batch_requests": "histogram", "dibs_commits_total": "counter",
		"dibs_queue_depth": "gauge", "dibs_engine_failures_total": "counter",
		"dibs_sweep_looked_total": "counter", "dibs_sweep_changed_total": "counter",
		"dibs_last_sweep_timestamp_seconds": "gauge", "dibs_suspects_unsettled": "gauge",
		"dibs_http_denied_total": "counter", "go_goroutines": "gauge",
	} {
		if families[name] == nil || families[name].kind != kind {
			r.Errorf("%s is %v, want a %s", name, families[name], kind)
		}
	}
	if r.metric("dibs_batch_requests") == 0 || r.metric("dibs_commits_total") == 0 {
		r.Error("no batch was counted")
	}
	checkLabels(r, families)
}

// checkLabels checks that labels have few values: routes as patterns, never paths.
func checkLabels(r *rig, families map[string]*family) {
	r.Helper()
	for name, f := range families {
		if f.help == "" || f.kind == "" {
			r.Errorf("%s has no help or no type", name)
		}
		for sample := range f.samples {
			if strings.Contains(sample, "nowhere") {
				r.Errorf("a path of a request is a label: %s", sample)
			}
		}
	}
}

// Calls to witnesses are counted, and so are suspects, also between two calls.
func TestWitnessMetrics(t *testing.T) {
	t.Parallel()
	for _, e := range engines() {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, e, nil)
			began := time.Now()
			made, body := r.send(http.MethodPost, "/v1/reservations", nil, `{"namespace": "mwitness", "value": "a", "ttlMs": 300}`)
			if made.status != http.StatusCreated {
				r.Fatalf("%d %s", made.status, body)
			}
			eventually(r, "the hold is suspect", func() bool {
				_, body := r.send(http.MethodGet, "/v1/names?state=suspect", nil, "")
				return strings.Contains(body, `"mwitness:a"`)
			})
			for range 2 { // the second sweep calls no witness
				r.send(http.MethodPost, "/v1/sweep", nil, `{}`)
			}
			_, body = r.send(http.MethodGet, "/v1/names?state=suspect", nil, "")
			shown := regexp.MustCompile(`"asked":([12]),"askAt":"`).FindStringSubmatch(body)
			// On a busy machine the second sweep may come after the pause of the witness.
			if shown == nil || shown[1] == "2" && time.Since(began) < 5*time.Second {
				r.Fatalf("it is shown as %s", body)
			}
			asked := float64(shown[1][0] - '0')
			eventually(r, "one is counted", func() bool { return r.metric("dibs_suspects_unsettled") == 1 })
			for name, want := range map[string]float64{`dibs_witness_calls_total{outcome="unknown"}`: asked, "dibs_witness_seconds": asked} {
				if got := r.metric(name); got != want {
					r.Errorf("%s is %v, want %v", name, got, want)
				}
			}
		})
	}
}
