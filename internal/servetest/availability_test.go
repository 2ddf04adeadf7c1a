package servetest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/internal/wire"
)

// problemIn returns the problem in an answer.
func problemIn(t *testing.T, a answer) (p wire.Problem) {
	t.Helper()
	if err := json.Unmarshal(a.body, &p); err != nil {
		t.Fatalf("%d %s: %v", a.status, a.body, err)
	}
	return p
}

// refusedBecause reports whether an answer is a 503 with a cause, without the driver's text.
func refusedBecause(t *testing.T, a answer, cause string) bool {
	t.Helper()
	if a.status != http.StatusServiceUnavailable {
		return false
	}
	for _, leaked := range []string{"SQLSTATE", "sqlite", "dial", "ERROR:", "/tmp"} {
		if strings.Contains(string(a.body), leaked) {
			t.Errorf("the answer has the driver's text: %s", a.body)
		}
	}
	p := problemIn(t, a)
	return p.Cause == cause && strings.Contains(p.Detail, cause)
}

// isReady reports whether /readyz is 200.
func (p *process) isReady(t *testing.T) bool {
	t.Helper()
	return get(t, p.url+"/readyz").status == http.StatusOK
}

// complaints returns the warnings and errors in the log.
func (p *process) complaints() (lines []string) {
	for line := range strings.Lines(p.stderr.String()) {
		if strings.Contains(line, "level=ERROR") || strings.Contains(line, "level=WARN") {
			lines = append(lines, line)
		}
	}
	return lines
}

// outage makes a server's store refuse writes.
type outage struct {
	cause      string
	begin, end func()
}

// calls is how many calls fail in an outage: far more than the log may have lines.
const calls = 50

// mustSurvive runs a server through an outage in which reads still work: callers get the
// cause, /readyz changes to 503 and back, and the log stays short.
func (o outage) mustSurvive(t *testing.T, p *process) {
	t.Helper()
	await(t, "the server is ready", func() bool { return p.isReady(t) })
	held := hold(t, p, "slug", "before")
	o.begin()
	names := 0
	reserve := func() answer {
		names++
		return post(t, p.url+"/v1/reservations", fmt.Sprintf(`{"namespace": "slug", "value": "name-%d"}`, names))
	}
	await(t, "a caller gets the cause "+o.cause, func() bool { return refusedBecause(t, reserve(), o.cause) })
	await(t, "/readyz reports it", func() bool { return refusedBecause(t, get(t, p.url+"/readyz"), o.cause) })
	if a := get(t, p.url+"/readyz?reads"); a.status != http.StatusOK {
		t.Errorf("/readyz?reads is %d %s", a.status, a.body)
	}
	if a := get(t, p.url+"/metrics"); !strings.Contains(string(a.body), `dibs_store_writable{store="default"} 0`) {
		t.Error("the metrics do not say that the store cannot be written to")
	}
	for range calls {
		reserve()
		if a := get(t, p.url+"/v1/reservations/"+held.ReservationID); a.status != http.StatusOK {
			t.Fatalf("a read fails: %d %s", a.status, a.body)
		}
	}
	lines := p.complaints()
	withCause := 0
	for _, line := range lines {
		if strings.Contains(line, o.cause) {
			withCause++
		}
	}
	if withCause == 0 || len(lines) > 6 {
		t.Errorf("the log has %d lines, %d with the cause, after %d failed calls:\n%s", len(lines), withCause, calls, strings.Join(lines, ""))
	}
	o.end()
	began := time.Now()
	await(t, "/readyz is 200 again", func() bool { return p.isReady(t) })
	t.Logf("ready again after %v", time.Since(began))
	if a := reserve(); a.status != http.StatusCreated {
		t.Errorf("%d %s", a.status, a.body)
	}
	if !strings.Contains(p.stderr.String(), "the store works again") {
		t.Error("the log does not report the end of the outage")
	}
	if strings.Contains(p.stderr.String(), "about its routes") {
		t.Error("the log reports the outage of a store without routes a second time")
	}
}

func TestRefusedWrites(t *testing.T) {
	t.Parallel()
	notRaced(t)
	for cause, setting := range map[string][2]string{
		"synchronous standby missing": {"synchronous_standby_names", "nowhere"},
		"database read-only":          {"default_transaction_read_only", "on"},
	} {
		t.Run(cause, func(t *testing.T) {
			t.Parallel()
			cluster := pgtest.Start(t, pgtest.Options{})
			outage{
				cause: cause,
				begin: func() { cluster.Configure(t, setting[0], setting[1]) },
				end:   func() { cluster.Configure(t, setting[0], "") },
			}.mustSurvive(t, serve(t, t.TempDir(), "--store", cluster.DSN("postgres"), "--request-timeout", "4s"))
		})
	}
}

// TestDatabaseGone stops and starts the database under a server: callers get the cause at
// once, and are served again as soon as it is back. And a server waits for a database that
// starts after it.
func TestDatabaseGone(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t, pgtest.Options{})
	databaseComesBack(t, cluster)
	databaseComesLater(t, cluster)
}

func databaseComesBack(t *testing.T, cluster *pgtest.Cluster) {
	t.Helper()
	const cause = "no answer from the database"
	p := serve(t, t.TempDir(), "--store", cluster.DSN("postgres"))
	refusal, back := time.Hour, time.Hour // of the quickest round: the machine may be busy
	held := hold(t, p, "slug", "alice")
	read := func() answer { return get(t, p.url+"/v1/reservations/"+held.ReservationID) }
	for round := range 2 {
		cluster.Stop(t)
		await(t, "readers get the cause", func() bool { return refusedBecause(t, read(), cause) })
		var took []time.Duration
		for range 50 {
			began := time.Now()
			if a := read(); !refusedBecause(t, a, cause) {
				t.Fatalf("%d %s", a.status, a.body)
			}
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		refusal = min(refusal, percentile(took, 50))
		if a := post(t, p.url+"/v1/reservations", `{"namespace": "slug", "value": "bob"}`); !refusedBecause(t, a, cause) {
			t.Errorf("%d %s", a.status, a.body)
		}
		for _, path := range []string{"/readyz", "/readyz?reads"} {
			if a := get(t, p.url+path); !refusedBecause(t, a, cause) {
				t.Errorf("%s is %d %s", path, a.status, a.body)
			}
		}
		cluster.Restart(t)
		began := time.Now()
		await(t, "readers are served again", func() bool { return read().status == http.StatusOK })
		back = min(back, time.Since(began))
		await(t, "/readyz is 200 again", func() bool { return p.isReady(t) })
		hold(t, p, "slug", fmt.Sprint("after-", round))
	}
	t.Logf("a refusal took %v, and readers were served %v after the database", refusal, back)
	if refusal > 100*time.Millisecond {
		t.Errorf("readers waited %v for a known answer", refusal)
	}
	if back > 5*time.Second {
		t.Errorf("readers were served %v after the database was back", back)
	}
	log := p.stderr.String()
	if lines := p.complaints(); len(lines) > 6 || !strings.Contains(log, `cause="`+cause+`"`) {
		t.Errorf("%d lines:\n%s", len(lines), strings.Join(lines, ""))
	}
	if strings.Contains(log, "part") {
		t.Error("the log mentions parts, but there are no routes")
	}
}

// databaseComesLater starts a server before its database.
func databaseComesLater(t *testing.T, cluster *pgtest.Cluster) {
	t.Helper()
	cluster.Stop(t)
	serveArgs := []string{"serve", "--listen", "127.0.0.1:0", "--store", cluster.DSN("postgres")}

	hasty := finish(t, t.TempDir(), append(serveArgs, "--wait", "0s")...)
	if code := hasty.wait(t); code != 6 || !strings.Contains(hasty.stderr.String(), "no answer from the database") {
		t.Errorf("without waiting: exit code %d, %s", code, hasty.stderr.String())
	}
	p := start(t, t.TempDir(), nil, serveArgs...)
	await(t, "the log says that it waits", func() bool { return strings.Contains(p.stderr.String(), "waiting for it") })
	cluster.Restart(t)
	listen(t, p)
	hold(t, p, "slug", "bob")
	if n := strings.Count(p.stderr.String(), "waiting for it"); n != 1 || !strings.Contains(p.stderr.String(), "the store answers") {
		t.Errorf("it says %d times that it waits: %s", n, p.stderr.String())
	}
}
