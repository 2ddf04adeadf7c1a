package model_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain makes histories longer than rapid would by itself; -rapid.checks and
// -rapid.steps say otherwise.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"rapid.checks": "120", "rapid.steps": "50"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	flag.Parse()
	os.Exit(m.Run())
}
