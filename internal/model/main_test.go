//go:build unix

package model_test

import (
	"cmp"
	"flag"
	"os"
	"testing"

	"github.com/calldibs/dibs/internal/etcdtest"
)

// TestMain makes histories longer than rapid's default, and fewer, unless HISTORIES of the environment
// says how many there are. The flags -rapid.checks and -rapid.steps override it.
func TestMain(m *testing.M) {
	flag.Parse()
	settings := map[string]string{"rapid.checks": cmp.Or(os.Getenv("HISTORIES"), "40"), "rapid.steps": "50"}
	if testing.Short() {
		settings["rapid.checks"] = "25"
	}
	flag.Visit(func(f *flag.Flag) { delete(settings, f.Name) })
	for name, value := range settings {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	etcdtest.Main(m)
}
