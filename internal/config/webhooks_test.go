package config_test

import (
	"net/netip"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

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
