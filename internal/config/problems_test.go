package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/config"
)

// Each file in testdata has its problems in a golden file.
func TestProblems(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.toml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			_, err := config.Load(config.Overrides{File: path, Environ: map[string]string{}})
			if err == nil {
				t.Fatal("it loaded")
			}
			got := strings.ReplaceAll(err.Error(), filepath.ToSlash("testdata/"), "") + "\n"
			golden := strings.TrimSuffix(path, ".toml") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			checkLines(t, path, got)
		})
	}
}

// checkLines checks that problems are exactly on the lines marked with "# wrong".
func checkLines(t *testing.T, path, problems string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(text), "\n") {
		prefix := filepath.Base(path) + ":" + strconv.Itoa(i+1) + ":"
		reported := slices.ContainsFunc(strings.Split(problems, "\n"), func(p string) bool { return strings.HasPrefix(p, prefix) })
		if marked := strings.Contains(line, "# wrong"); marked != reported {
			t.Errorf("line %d is marked: %v, reported: %v: %s", i+1, marked, reported, line)
		}
	}
}

// No error contains a secret.
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`store = "mysql://u:hunter2@h/n"`,
		`store = "postgres://u:hunter2@x@h/n"`,
		`store = "host=h password=hunter2"`,
		"store = \"postgres://u:hunter2@h/n",
		"[[routes]]\nname = \"eu\"\nscopes = [\"acme\"]\nstore = \"mysql://u:hunter2@h/n\"",
		"[[routes]]\nname = \"eu\"\nscopes = [\"acme\"]\nstore = \"postgres://u:hunter2@x@h/n\"",
		"[[blindKeys]]\nid = \"k\"\nsecret = \"hunter2\"",
		"[[blindKeys]]\nid = \"k\"\nsecret = \"hunter2!\"",
		"[[blindKeys]]\nid = \"k\"\nsecret = \"hunter2hunter2hunter2hunter2hunter2hunter2hunter2\"\nsecretFile = \"x\"",
		"[[blindKeys]]\nid = \"k\"\nsecret = [\"hunter2\"]",
	} {
		if got := problems(t, text).Error(); strings.Contains(got, "hunter") {
			t.Errorf("%s\nis reported as %s", text, got)
		}
	}
	for name, value := range map[string]string{
		"DIBS_STORE": "mysql://u:hunter2@h/n", "DIBS_BLIND_KEYS": "hunter2", "DIBS_STORE_FILE": "", "DIBS_LISTEN": "x",
	} {
		environ := map[string]string{name: value}
		if value == "" {
			environ[name] = write(t, "mysql://u:hunter2@h/n")
		}
		_, err := config.Load(config.Overrides{Environ: environ})
		if err == nil || strings.Contains(err.Error(), "hunter") || !strings.HasPrefix(err.Error(), name+": ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMissingFile(t *testing.T) {
	t.Parallel()
	_, err := config.Load(config.Overrides{Environ: map[string]string{"DIBS_CONFIG": "/nonexistent/dibs.toml"}})
	if err == nil || err.Error() != "/nonexistent/dibs.toml: cannot be read: no such file or directory" {
		t.Errorf("%v", err)
	}
}

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
