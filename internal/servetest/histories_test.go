package servetest_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsclient"
	"github.com/calldibs/dibs/internal/linear"
)

// policies are those of linear.Config, as a server is told.
const policies = `
[policies.plain]
minTTL = "1ms"
[policies.kept]
minTTL = "1ms"
quarantine = "1d"
`

// TestHistories checks histories of callers of two servers on one file, of which one at a
// time is killed and started again. To its callers each command still happens at one moment,
// or they are told that nobody knows.
func TestHistories(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := filepath.Join(dir, "dibs.toml")
	if err := os.WriteFile(config, []byte(policies), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"--config", config, "--store", "sqlite:" + filepath.Join(dir, "names.db")}
	servers := []*process{serve(t, dir, args...), serve(t, dir, args...)}
	var regs []*dibs.Registry
	for _, server := range servers {
		// A client that repeats a command is told of a replay of its own.
		reg, err := dibsclient.Dial(server.url, dibsclient.Options{Retries: -1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = reg.Close() })
		regs = append(regs, reg)
	}
	histories := 20
	if testing.Short() {
		histories = 5
	}
	report := linear.Run(t, linear.Site{
		Registries: regs, Patience: 2 * time.Second,
		Harm: func(random *rand.Rand) string {
			i := random.IntN(len(servers))
			servers[i].kill(t)
			servers[i] = serve(t, dir, append(args, "--listen", strings.TrimPrefix(servers[i].url, "http://"))...)
			return "server killed"
		},
	}, histories)
	if report.Harm["server killed"] == 0 {
		t.Error("no server was killed")
	}
}
