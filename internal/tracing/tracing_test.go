package tracing

import (
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOffWithoutAnEndpoint(t *testing.T) {
	t.Parallel()
	off, err := Start(t.Context(), Config{Sample: 1}, slog.New(slog.DiscardHandler))
	if off != nil || err != nil || off.Provider() != nil || off.Register(nil) != nil {
		t.Errorf("%v, %v", off, err)
	}
	off.Stop(nil)
}

func TestWithPath(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string]string{
		"http://collector:4318":         "http://collector:4318/v1/traces",
		"http://collector:4318/":        "http://collector:4318/v1/traces",
		"https://example.com/otlp/v1/t": "https://example.com/otlp/v1/t",
	} {
		if got := withPath(endpoint); got != want {
			t.Errorf("%s becomes %s, want %s", endpoint, got, want)
		}
	}
}

// Headers come from the configuration and the file. An error does not contain a line of the
// file.
func TestHeaders(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "headers")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg := Config{Endpoint: "http://127.0.0.1:1", Headers: map[string]string{"Tenant": "names"}, HeadersFile: path}
	write("X-Key: a:b\n\n  Other :c \n")
	got, err := cfg.headers()
	if want := map[string]string{"Tenant": "names", "X-Key": "a:b", "Other": "c"}; err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	write("hunter2\n")
	if _, err := Start(t.Context(), cfg, slog.New(slog.DiscardHandler)); err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("error %v", err)
	}
	cfg.HeadersFile += "-missing"
	if _, err := Start(t.Context(), cfg, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a missing file is accepted")
	}
}
