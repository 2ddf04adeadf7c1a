package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/config"
)

// Every file either loads, or has problems that are each on a line of the file.
func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/*.toml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add(enabled())
	f.Fuzz(func(t *testing.T, text string) {
		_, err := config.Load(config.Overrides{File: write(t, text), Environ: map[string]string{}})
		if err == nil {
			return
		}
		list, ok := err.(config.Problems) //nolint:errorlint // it is never wrapped
		if !ok || len(list) == 0 {
			t.Fatalf("%T: %v", err, err)
		}
		for _, p := range list {
			if p.Line < 1 || p.Line > strings.Count(text, "\n")+1 {
				t.Errorf("%s", p)
			}
		}
	})
}
