package servetest_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/internal/wire"
)

// orders is a service that answers questions about holds.
type orders struct {
	mu    sync.Mutex
	says  map[string]string // by the canonical form of the name; empty means an error
	asked map[string]int
}

func (o *orders) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	var question struct{ Canonical string }
	if json.NewDecoder(r.Body).Decode(&question) != nil || r.Header.Get("Authorization") != "Bearer hunter2" {
		out.WriteHeader(http.StatusUnauthorized)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked[question.Canonical]++
	answer, known := o.says[question.Canonical]
	switch {
	case !known:
		http.NotFound(out, r)
	case answer == "":
		out.WriteHeader(http.StatusInternalServerError)
	default:
		_, _ = io.WriteString(out, answer)
	}
}

// let sets the answer about a name.
func (o *orders) let(name, answer string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.says[name] = answer
}

// witnessed is a server with a witness.
type witnessed struct {
	*process
	t   *testing.T
	dir string
}

// lapse makes a short hold that is never confirmed.
func (w witnessed) lapse(namespace, value string) {
	w.t.Helper()
	body := fmt.Sprintf(`{"namespace": %q, "value": %q, "ttlMs": 200, "entity": {"type": "order", "id": %q}, "correlationId": "c-1"}`, namespace, value, value)
	a, err := ask(newClient(w.t, 1), http.MethodPost, w.url+"/v1/reservations", body)
	if err != nil || a.status != http.StatusCreated {
		w.t.Fatalf("%d %s, %v", a.status, a.body, err)
	}
}

// name reads a name.
func (w witnessed) name(namespace, value string) (n wire.Name) {
	w.t.Helper()
	a := get(w.t, w.url+"/v1/names/"+namespace+"/"+value)
	if err := json.Unmarshal(a.body, &n); err != nil || a.status != http.StatusOK {
		w.t.Fatalf("%d %s, %v", a.status, a.body, err)
	}
	return n
}

// becomes waits until a name has a status and a doubt.
func (w witnessed) becomes(namespace, value, status, doubt string) {
	w.t.Helper()
	await(w.t, value+" becomes "+status+" "+doubt, func() bool {
		n := w.name(namespace, value)
		return n.Status == status && strings.Contains(n.Doubt, doubt)
	})
}

// startWitnessed starts a server with a configuration file.
func startWitnessed(t *testing.T, configuration string) witnessed {
	t.Helper()
	w := witnessed{t: t, dir: t.TempDir()}
	writeFile(t, w.dir, "secret", "hunter2\n")
	writeFile(t, w.dir, "dibs.toml", configuration)
	w.process = serve(t, w.dir, "--config", "dibs.toml", "--sweep-every", "100ms")
	t.Cleanup(func() {
		if strings.Contains(w.stderr.String()+w.stdout.String(), "hunter2") {
			t.Error("a secret is in the log")
		}
	})
	return w
}

// byService is a configuration with a service as the witness of codes.
func byService(url string) string {
	return fmt.Sprintf("[policies.code]\nminTTL = \"1ms\"\nwitness = \"orders\"\n[witnesses.orders]\nurl = %q\nsecretFile = \"secret\"\ntimeout = \"20s\"\n", url)
}

// TestWitnessByHTTP lets holds lapse, and a service decide about them.
func TestWitnessByHTTP(t *testing.T) {
	t.Parallel()
	service := &orders{asked: make(map[string]int), says: map[string]string{
		"saved":  `{"outcome": "exists", "entity": {"type": "order", "id": "saved"}}`,
		"other":  `{"outcome": "exists", "entity": {"type": "order", "id": "7"}}`,
		"fenced": `{"outcome": "absent"}`,
		"paying": `{"outcome": "unknown", "reason": "it is being paid"}`,
		"page":   `<html>absent</html>`,
		"failed": ``,
	}}
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	w := startWitnessed(t, byService(server.URL))
	ends := map[string][2]string{
		"saved":   {"confirmed", ""},
		"other":   {"suspect", "the witness says that it exists, but the verdict cannot be applied:"},
		"fenced":  {"expired", ""},
		"paying":  {"suspect", "the witness does not know: it is being paid"},
		"page":    {"suspect", "not JSON"},
		"failed":  {"suspect", "500"},
		"nowhere": {"suspect", "404"},
	}
	for name := range ends {
		w.lapse("code", name)
	}
	for name, want := range ends {
		w.becomes("code", name, want[0], want[1])
	}

	w.checkSuspects()

	// A service that is down has no answer; another one in its place is asked again.
	server.Close()
	w.lapse("code", "late")
	w.becomes("code", "late", "suspect", "could not be asked")
	service.let("late", `{"outcome": "absent"}`)
	service.let("failed", `{"outcome": "exists", "entity": {"type": "order", "id": "failed"}}`)
	second := httptest.NewServer(service)
	t.Cleanup(second.Close)
	writeFile(t, w.dir, "dibs.toml", byService(second.URL))
	w.signal(t, syscall.SIGHUP)
	w.becomes("code", "late", "expired", "")
	w.becomes("code", "failed", "confirmed", "")
	if n := w.name("code", "paying"); n.Asked < 2 || n.AskAt == "" {
		t.Errorf("asked %d times, next at %q", n.Asked, n.AskAt)
	}

	w.signal(t, syscall.SIGTERM)
	if w.wait(t) != 0 {
		t.Error("the exit code is not 0")
	}
}

// checkSuspects demands that all suspects are listed and counted, and can be settled.
func (w witnessed) checkSuspects() {
	w.t.Helper()
	listed := finish(w.t, w.dir, "suspects", "--server", w.url)
	for _, part := range []string{"code:other", "code:paying", "code:page", "code:failed", "code:nowhere", "order/paying", "c-1", "being paid"} {
		if !strings.Contains(listed.stdout.String(), part) {
			w.t.Errorf("%s is not listed:\n%s%s", part, listed.stdout.String(), listed.stderr.String())
		}
	}
	if strings.Contains(listed.stdout.String(), "code:saved") {
		w.t.Error("a settled name is listed")
	}
	id := w.name("code", "nowhere").ReservationID
	if p := finish(w.t, w.dir, "settle", id, "--exists", "order/nowhere", "--server", w.url); p.wait(w.t) != 0 {
		w.t.Error(p.stderr.String())
	}
	w.becomes("code", "nowhere", "confirmed", "")
	id = w.name("code", "page").ReservationID
	a, err := ask(newClient(w.t, 1), http.MethodPost, w.url+"/v1/reservations/"+id+"/settle", `{"outcome": "absent"}`)
	if err != nil || a.status != http.StatusOK {
		w.t.Errorf("%d %s, %v", a.status, a.body, err)
	}
	w.becomes("code", "page", "expired", "")
	metrics := string(get(w.t, w.url+"/metrics").body)
	for _, outcome := range []string{"exists", "absent", "unknown", "failed"} {
		if !strings.Contains(metrics, `dibs_witness_calls_total{outcome="`+outcome+`"}`) {
			w.t.Errorf("the metrics do not count the outcome %s", outcome)
		}
	}
	await(w.t, "suspects are counted", func() bool {
		return strings.Contains(string(get(w.t, w.url+"/metrics").body), "dibs_suspects_unsettled")
	})
}

// TestWitnessBySQL does the same with queries, on SQLite and on PostgreSQL.
func TestWitnessBySQL(t *testing.T) {
	t.Parallel()
	notRaced(t)
	file := filepath.Join(t.TempDir(), "orders.db")
	for name, database := range map[string]struct{ driver, source, address string }{
		"sqlite":   {"sqlite", file, "sqlite:" + file},
		"postgres": {driver: "pgx", source: pgtest.Shared(t).NewDatabase(t)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, err := sql.Open(database.driver, database.source)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			exec := func(statement string) {
				t.Helper()
				if _, err := db.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			exec("CREATE TABLE orders (id TEXT PRIMARY KEY, name TEXT, epoch BIGINT)")
			exec("INSERT INTO orders VALUES ('saved', 'code:saved', 1), ('twice-1', 'code:twice', 1), ('twice-2', 'code:twice', 1)")
			if database.address == "" {
				database.address = database.source
			}
			w := startWitnessed(t, fmt.Sprintf(`
[policies.code]
minTTL = "1ms"
witness = "orders"
[policies.patient]
minTTL = "1ms"
witness = "patient"
[witnesses.orders]
database = %[1]q
query = "SELECT 'order' AS type, id FROM orders WHERE name = :key AND epoch = :epoch -- :nothing"
absentAfter = "1ms"
[witnesses.patient]
database = %[1]q
query = "SELECT 'order' AS type, id FROM orders WHERE name = :key AND epoch = :epoch"
`, database.address))
			w.lapse("code", "saved")
			w.lapse("code", "fenced")
			w.lapse("code", "twice")
			w.lapse("patient", "late")
			w.becomes("code", "saved", "confirmed", "")
			w.becomes("code", "fenced", "expired", "")
			w.becomes("code", "twice", "suspect", "more than one entity")
			w.becomes("patient", "late", "suspect", "no row")
			exec("INSERT INTO orders VALUES ('late', 'patient:late', 1)")
			exec("DELETE FROM orders WHERE id = 'twice-1'")
			w.becomes("patient", "late", "confirmed", "")
			// The row has another entity than the hold.
			w.becomes("code", "twice", "suspect", "exists, but the verdict cannot be applied:")
			exec("DROP TABLE orders")
			w.lapse("code", "lost")
			w.becomes("code", "lost", "suspect", "the query failed")
			w.signal(t, syscall.SIGTERM)
			if w.wait(t) != 0 {
				t.Error("the exit code is not 0")
			}
		})
	}
}

// TestWitnessWithoutServer lets the command line ask the witness of the file: a command that
// opens the store itself has the same policies as a server.
func TestWitnessWithoutServer(t *testing.T) {
	t.Parallel()
	notRaced(t)
	service := &orders{asked: make(map[string]int), says: map[string]string{"fenced": `{"outcome": "absent"}`}}
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	w := witnessed{t: t, dir: t.TempDir()}
	writeFile(t, w.dir, "secret", "hunter2\n")
	writeFile(t, w.dir, "dibs.toml", byService(server.URL))
	where := []string{"--store", "sqlite:dibs.db", "--config", "dibs.toml"}
	p := finish(t, w.dir, append([]string{"reserve", "code", "fenced", "--ttl", "200ms"}, where...)...)
	if p.wait(t) != 0 {
		t.Fatal(p.stderr.String())
	}
	await(t, "the witness is asked", func() bool {
		p := finish(t, w.dir, append([]string{"sweep"}, where...)...)
		return strings.Contains(p.stdout.String(), "settled    1")
	})
	p = finish(t, w.dir, append([]string{"get", "code", "fenced", "--json"}, where...)...)
	if !strings.Contains(p.stdout.String(), `"status": "expired"`) {
		t.Errorf("it is %s %s", p.stdout.String(), p.stderr.String())
	}
}
