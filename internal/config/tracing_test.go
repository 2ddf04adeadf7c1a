package config_test

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/config"
	"github.com/calldibs/dibs/internal/tracing"
)

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
