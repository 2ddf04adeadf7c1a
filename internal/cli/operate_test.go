package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs/etcdstore"
	"github.com/calldibs/dibs/internal/cli"
	"github.com/calldibs/dibs/internal/etcdtest"
)

// "dibs clock set" corrects the time of a registry in etcd that is a day ahead.
func TestClockOfEtcd(t *testing.T) {
	t.Parallel()
	notRaced(t)
	cluster := etcdtest.Start(t, etcdtest.Options{Members: 1})
	wrong, err := etcdstore.Open(t.Context(), etcdstore.Config{
		Endpoints: cluster.Endpoints(), Prefix: "names/", Now: func() time.Time { return time.Now().Add(24 * time.Hour) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := wrong.SetTime(t.Context(), time.Now().Add(24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := wrong.Close(); err != nil {
		t.Fatal(err)
	}
	dibs := func(args ...string) outcome {
		args = append(args, "--store", "etcd://"+cluster.Endpoints()[0]+"/names")
		return run(cli.Process{Args: args, Environ: map[string]string{}})
	}
	ahead := func() time.Duration {
		o := dibs("clock", "--json")
		var read struct {
			Clocks []struct {
				Name    string `json:"name"`
				AheadMs int64  `json:"aheadMs"`
			} `json:"clocks"`
		}
		if err := json.Unmarshal([]byte(o.stdout), &read); err != nil || len(read.Clocks) != 1 || read.Clocks[0].Name != "default" {
			t.Fatalf("%s, %v", o, err)
		}
		return time.Duration(read.Clocks[0].AheadMs) * time.Millisecond
	}
	if d := ahead(); d < 23*time.Hour {
		t.Errorf("the clock is %s ahead, want a day", d)
	}
	if o := dibs("clock"); !strings.Contains(o.stdout, "1d behind") && !strings.Contains(o.stdout, "23h59m") {
		t.Errorf("%s, want that this machine is a day behind", o)
	}
	if o := dibs("reserve", "slug", "a"); o.code == 0 || !strings.Contains(o.String(), "dibs clock set") {
		t.Errorf("%s, want that it is refused, and what to do", o)
	}
	if o := dibs("clock", "set"); o.code != 0 {
		t.Errorf("%s", o)
	}
	if d := ahead(); d.Abs() > time.Minute {
		t.Errorf("the clock is %s ahead after it was set", d)
	}
	if o := dibs("reserve", "slug", "a"); o.code != 0 {
		t.Errorf("%s", o)
	}
}

func TestBackup(t *testing.T) {
	t.Parallel()
	notRaced(t)
	folder := t.TempDir()
	store, copied := "sqlite:"+filepath.Join(folder, "names.db"), filepath.Join(folder, "copy.db")
	step := func(code int, args ...string) outcome {
		t.Helper()
		o := run(cli.Process{Args: args, Getenv: func(string) string { return "" }})
		if o.code != code {
			t.Fatalf("%v: exit code %d, want %d\n%s%s", args, o.code, code, o.stdout, o.stderr)
		}
		return o
	}
	// A missing store is an error, not an empty backup.
	step(2, "backup", copied, "--store", store)
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("there is %v, %v", left, err)
	}
	step(0, "claim", "slug", "alice-bob", "--entity", "wedding/42", "--store", store)
	step(0, "backup", copied, "--store", store)
	if o := step(1, "backup", copied, "--store", store); !strings.Contains(o.stderr, "new file") {
		t.Errorf("a second one to the same file says %s", o.stderr)
	}
	if o := step(0, "resolve", "slug", "alice-bob", "--store", "sqlite:"+copied); !strings.Contains(o.stdout, "wedding/42") {
		t.Errorf("the copy says %s", o.stdout)
	}
	for _, other := range []string{"mem:", "postgres://localhost/names"} {
		step(2, "backup", filepath.Join(folder, "other.db"), "--store", other)
	}
	step(2, "backup", filepath.Join(folder, "other.db"), "--server", "http://127.0.0.1:1")
}
