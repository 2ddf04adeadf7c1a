package servetest_test

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsclient"
	"github.com/calldibs/dibs/internal/freeport"
	"github.com/calldibs/dibs/internal/linear"
	"github.com/calldibs/dibs/internal/lineartest"
	"github.com/calldibs/dibs/internal/pgtest"
)

// policies are those of linear.Config, as server configuration.
const policies = `
[policies.plain]
minTTL = "1ms"
[policies.kept]
minTTL = "1ms"
quarantine = "1d"
`

// twoServers are two servers on one store. One at a time is killed and restarted.
type twoServers struct {
	*testing.T
	dir     string
	args    []string
	servers []*process
}

func newTwoServers(t *testing.T, store string) *twoServers {
	t.Helper()
	c := &twoServers{T: t, dir: t.TempDir()}
	writeFile(t, c.dir, "dibs.toml", policies)
	c.args = []string{"--config", "dibs.toml", "--store", store}
	for range 2 {
		c.servers = append(c.servers, c.serveAt(freeport.Address(t)))
	}
	return c
}

func (c *twoServers) serveAt(address string) *process {
	c.Helper()
	return serve(c.T, c.dir, append(c.args, "--listen", address)...)
}

// registries returns one for each server.
func (c *twoServers) registries() (regs []*dibs.Registry) {
	for _, server := range c.servers {
		// A client that retries a command would get a replay of its own.
		reg, err := dibsclient.Dial(server.url, dibsclient.Options{Retries: -1})
		if err != nil {
			c.Fatal(err)
		}
		c.Cleanup(func() { _ = reg.Close() })
		regs = append(regs, reg)
	}
	return regs
}

func (c *twoServers) killOne(random *rand.Rand) string {
	i := random.IntN(len(c.servers))
	c.servers[i].kill(c.T)
	c.servers[i] = c.serveAt(strings.TrimPrefix(c.servers[i].url, "http://"))
	return "server killed"
}

// TestHistories checks histories of callers of two servers on one file. One server at a time
// is killed and restarted. Each command still happens at one moment, or returns that its
// outcome is unknown.
func TestHistories(t *testing.T) {
	t.Parallel()
	c := newTwoServers(t, "sqlite:"+filepath.Join(t.TempDir(), "names.db"))
	site := linear.Site{Registries: c.registries(), Patience: 2 * time.Second, Fault: c.killOne}
	report := lineartest.Run(t, "with two servers on SQLite", site, lineartest.Count(t, 20))
	if report.Faults["server killed"] == 0 {
		t.Error("no server was killed")
	}
}

// TestHistoriesOnPostgres is the same on PostgreSQL, which is also killed, and whose commits
// sometimes wait for a missing standby: then they take much longer than a hold lasts.
func TestHistoriesOnPostgres(t *testing.T) {
	t.Parallel()
	notRaced(t)
	cluster := pgtest.Start(t, pgtest.Options{})
	c := newTwoServers(t, newSchema(t, cluster))
	began := false
	report := lineartest.Run(t, "with two servers on PostgreSQL", linear.Site{
		Registries: c.registries(), Patience: 2 * time.Second,
		Fault: func(random *rand.Rand) string {
			kind := random.IntN(8)
			if !began { // a short run may have few faults
				began, kind = true, 7
			}
			switch kind {
			case 0:
				cluster.Kill(t)
				cluster.Restart(t)
				return "database killed"
			case 1, 2:
				return c.killOne(random)
			default:
				cluster.WithoutStandby(t, func() { time.Sleep(time.Duration(50+random.IntN(600)) * time.Millisecond) })
				return "standby away"
			}
		},
	}, lineartest.Count(t, 8))
	if report.Faults["standby away"] == 0 {
		t.Error("no commit had to wait for the standby")
	}
}
