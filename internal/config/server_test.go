package config_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/config"
	"github.com/calldibs/dibs/internal/limit"
	"github.com/calldibs/dibs/internal/tracing"
	"github.com/calldibs/dibs/internal/webhook"
)

func TestWebhooks(t *testing.T) {
	t.Parallel()
	got := load(t, `
[webhooks]
enabled = false
timeout = "3s"
pauses = ["1s", "1d"]
giveUpAfter = "7d"
concurrency = 9
allowPrefixes = ["10.1.2.3/8", "fd00::/8"]
source = "https://names.example.com"
`).Webhooks
	want := webhook.Config{
		Timeout: 3 * time.Second, Pauses: []time.Duration{time.Second, 24 * time.Hour}, GiveUpAfter: 7 * 24 * time.Hour, Concurrency: 9,
		AllowPrefixes: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}, Source: "https://names.example.com",
	}
	if got.Enabled || !reflect.DeepEqual(got.Config, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestInvalidWebhooks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`enabled = "yes"`:                 "must be true or false",
		`timeout = "1ms"`:                 "it must be at least 100ms",
		`timeout = "2m"`:                  "it must be at most 1m",
		`pauses = []`:                     "has 0 pauses; it must have 1 to 50",
		`pauses = ["1s", "soon"]`:         `invalid duration "soon"`,
		`pauses = ["0s"]`:                 "between 10ms and 30d",
		`pauses = "1s"`:                   "must be a list of texts",
		`giveUpAfter = "1ms"`:             "it must be at least 1s",
		`concurrency = 0`:                 "between 1 and 64",
		`allowPrefixes = ["10.0.0.1"]`:    `invalid network "10.0.0.1"`,
		`allowPrefixes = ["db.internal"]`: `invalid network "db.internal"`,
		`source = ""`:                     "must be a URI",
		`allowInternal = true`:            "unknown setting: use one of enabled, timeout",
	} {
		found := problems(t, "[webhooks]\n"+text+"\n")
		if len(found) != 1 || !strings.Contains(found[0].Message, want) {
			t.Errorf("%s: %v, want %s", text, found, want)
		}
	}
}

// Every setting of webhooks is in the sample and in the documentation.
func TestWebhooksAreDescribed(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(problems(t, "[webhooks]\nnothing = 1\n")[0].Message, "use one of ")
	if !found {
		t.Fatal("the settings are not listed")
	}
	for key := range strings.SplitSeq(list, ", ") {
		if !strings.Contains(string(page), "| `"+key+"` |") {
			t.Errorf("docs/configuration.md does not describe %s", key)
		}
		if !strings.Contains(enabled(), "\n"+key+" = ") {
			t.Errorf("%s is not in the sample", key)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	got := load(t, `
[limits]
reads = "10/s"
writes = "off"
checks = "6000/m"
perAddress = "1/s"
signIn = "5/h"
maxInFlight = 10000
maxWaiting = 0
maxWait = "250ms"
maxStreams = 7
maxConnections = 0
trustedProxies = ["10.1.2.3/8", "192.0.2.7", "fd00::/8"]
forwardedHeader = "forwarded"
`)
	want := limit.Limits{
		Reads: limit.Rate{N: 10, Per: time.Second}, Checks: limit.Rate{N: 6000, Per: time.Minute}, PerAddress: limit.Rate{N: 1, Per: time.Second},
		SignIn: limit.Rate{N: 5, Per: time.Hour}, MaxInFlight: 10_000, MaxWait: 250 * time.Millisecond, MaxStreams: 7, CallerShare: 75,
		Proxies: limit.Proxies{Header: limit.Forwarded, Trusted: []netip.Prefix{
			netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.7/32"), netip.MustParsePrefix("fd00::/8"),
		}},
	}
	if !reflect.DeepEqual(got.Limits, want) {
		t.Errorf("%+v\nwant %+v", got.Limits, want)
	}
	// The registry's queue has room for every admitted request.
	if size := got.Dibs().QueueSize; size != 10_000 {
		t.Errorf("the queue's size is %d", size)
	}
	if plain := load(t, ""); !reflect.DeepEqual(plain.Limits, limit.Defaults()) || plain.Dibs().QueueSize != 4096 {
		t.Errorf("%+v", plain.Limits)
	}
}

func TestTracing(t *testing.T) {
	t.Parallel()
	path := write(t, `
[tracing]
endpoint = "https://collector.example.com/otlp/v1/traces"
sample = 1
headers = { tenant = "names" }
headersFile = "secrets/collector"
`)
	c, err := config.Load(config.Overrides{File: path, Environ: map[string]string{}})
	if err != nil {
		t.Fatal(err)
	}
	want := tracing.Config{
		Endpoint: "https://collector.example.com/otlp/v1/traces", Sample: 1, ServiceName: "dibs",
		Headers: map[string]string{"tenant": "names"}, HeadersFile: filepath.Join(filepath.Dir(path), "secrets/collector"),
	}
	if !reflect.DeepEqual(c.Tracing, want) {
		t.Errorf("%+v\nwant %+v", c.Tracing, want)
	}
}

// An error about an endpoint does not contain it: it may have a password.
func TestTracingEndpoint(t *testing.T) {
	t.Parallel()
	for _, endpoint := range []string{
		"collector:4318", "grpc://collector:4317", "http://", "http://user:hunter2@collector:4318", "http://collector?key=hunter2", "http://collector:port-hunter2",
	} {
		list := problems(t, "[tracing]\nendpoint = \""+endpoint+"\"\n")
		if len(list) != 1 || strings.Contains(list.Error(), "hunter2") {
			t.Errorf("%s: %v", endpoint, list)
		}
	}
}
