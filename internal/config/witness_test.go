package config_test

import (
	"context"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/config"
)

// A policy has the witness that it names, or inherits one.
func TestWitnessesOfPolicies(t *testing.T) {
	t.Parallel()
	c := load(t, `
[default]
witness = "orders"
[policies.slug]
witness = "weddings"
[policies."acme.slug"]
maxHolds = 3
[policies.email]
witness = ""
[witnesses.orders]
url = "http://127.0.0.1:1/"
[witnesses.weddings]
database = "sqlite:/nonexistent/weddings.db"
query = """
SELECT 'wedding' AS type, id
FROM weddings -- those that were saved
WHERE reservation = :reservationId AND epoch = :epoch"""
absentAfter = "never"
`)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	for name, want := range map[string]string{
		"username": "refused", "slug": "unable to open", "acme.slug": "unable to open",
	} {
		verdict, err := c.Policies[name].Witness(t.Context(), dibs.SuspectHold{Epoch: 1})
		if verdict != dibs.Unknown || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the witness of %s says %v, %v", name, verdict, err)
		}
	}
	if c.Default.Witness == nil || c.Policies["email"].Witness != nil {
		t.Error("the default has no witness, or a policy cannot remove it")
	}
}

// The file sets everything about a service: certificate, secret, headers and timeout.
func TestWitnessByHTTPS(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer hunter2" || r.Header.Get("X-Region") != "eu" {
			out.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(out, `{"outcome": "absent"}`)
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for name, text := range map[string]string{
		"ca.pem": string(certificate),
		"secret": "hunter2\n",
		"dibs.toml": `
[default]
witness = "orders"
[policies.slug]
witness = "stranger"
[witnesses.orders]
url = ` + strconv.Quote(server.URL) + `
secretFile = "secret"
caFile = "ca.pem"
headers = { X-Region = "eu" }
timeout = "30s"
atOnce = 1
[witnesses.stranger]
url = ` + strconv.Quote(server.URL) + `
secretEnv = "ORDERS"
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := config.Load(config.Overrides{File: filepath.Join(dir, "dibs.toml"), Environ: map[string]string{"ORDERS": "hunter2"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if verdict, err := c.Default.Witness(ctx, dibs.SuspectHold{}); verdict != dibs.Absent || err != nil {
		t.Errorf("%v, %v", verdict, err)
	}
	if verdict, err := c.Policies["slug"].Witness(ctx, dibs.SuspectHold{}); verdict != dibs.Unknown || err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a service with an untrusted certificate is trusted: %v, %v", verdict, err)
	}
}

func TestWitnessNamedWithoutAny(t *testing.T) {
	t.Parallel()
	got := problems(t, "[policies.slug]\nwitness = \"the orders\"\n")[0]
	if got.Line != 2 || got.Message != `unknown witness "the orders": add a table [witnesses."the orders"]` {
		t.Errorf("%+v", got)
	}
}
