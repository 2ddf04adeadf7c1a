package pgstore_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs/embedded"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/pgstore"
)

// guide is docs/dual-writing.md: its SQL by label, and its Go.
type guide struct {
	sql  map[string]string
	code []string
}

func readGuide(t *testing.T) guide {
	t.Helper()
	text := string(must[[]byte](t)(os.ReadFile("../docs/dual-writing.md")))
	g := guide{sql: make(map[string]string)}
	blocks := strings.Split(text, "```")
	for i := 1; i < len(blocks); i += 2 {
		kind, body, _ := strings.Cut(blocks[i], "\n")
		switch before := strings.TrimSpace(blocks[i-1]); kind {
		case "go":
			g.code = append(g.code, strings.TrimSpace(body))
		case "sql":
			label := before[strings.LastIndex(before, "<!-- sql: ")+len("<!-- sql: "):]
			label = strings.TrimSuffix(label, " -->")
			if _, twice := g.sql[label]; twice || strings.Contains(label, "\n") {
				t.Errorf("an SQL block without a label of its own: %s", body)
			}
			g.sql[label] = body
		default:
			t.Errorf("a block of %q, which no test checks", kind)
		}
	}
	return g
}

// The Go code of the guide is run by tests.
func TestGuideIsTested(t *testing.T) {
	t.Parallel()
	var tested strings.Builder
	for _, file := range []string{"adopting_shapes_test.go", "adopting_test.go", "example_backfill_test.go"} {
		tested.Write(must[[]byte](t)(os.ReadFile(file)))
	}
	for _, code := range readGuide(t).code {
		if !strings.Contains(tested.String(), code) {
			t.Errorf("no test runs this:\n%s", code)
		}
	}
}

// move is the move of one product to Dibs.
type move struct {
	*testing.T
	guide
	db   *pgxpool.Pool
	dsn  string
	reg  *dibs.Registry
	used map[string]bool

	version sync.RWMutex // read-locked while a writer runs
	both    bool         // step 2 is deployed
	writers sync.WaitGroup
	stop    chan struct{}
	writes  atomic.Int64
}

// beginMove creates the old tables in a database of their own.
func beginMove(t *testing.T, shape string) *move {
	t.Helper()
	dsn := pgtest.Shared(t).NewDatabase(t)
	m := &move{T: t, guide: readGuide(t), dsn: dsn, used: make(map[string]bool), stop: make(chan struct{})}
	m.db = must[*pgxpool.Pool](t)(pgxpool.New(context.Background(), dsn))
	t.Cleanup(m.db.Close)
	m.run(shape + "/shape")
	t.Cleanup(func() {
		for label := range m.sql {
			if strings.HasPrefix(label, shape+"/") && !m.used[label] {
				t.Errorf("the guide's %s was not run", label)
			}
		}
	})
	return m
}

// text returns a block of the guide.
func (m *move) text(label string) string {
	m.Helper()
	if m.sql[label] == "" {
		m.Fatalf("the guide has no %s", label)
	}
	m.used[label] = true
	return m.sql[label]
}

func (m *move) run(label string) { m.Helper(); m.exec(m.text(label)) }

func (m *move) exec(statements string) {
	m.Helper()
	conn := must[*pgxpool.Conn](m.T)(m.db.Acquire(m.Context()))
	defer conn.Release()
	if _, err := conn.Conn().PgConn().Exec(m.Context(), statements).ReadAll(); err != nil {
		m.Fatal(err)
	}
}

// rows counts the rows of a query of the guide.
func (m *move) rows(label string) int {
	m.Helper()
	rows := must[pgx.Rows](m.T)(m.db.Query(m.Context(), m.text(label)))
	n := 0
	for rows.Next() {
		n++
	}
	if err := rows.Err(); err != nil {
		m.Fatal(err)
	}
	return n
}

// write makes customers write until end is called. None of them may fail.
func (m *move) write(work func(ctx context.Context, i int64, both bool) error) {
	for range 2 {
		m.writers.Go(func() {
			for {
				select {
				case <-m.stop:
					return
				case <-time.After(30 * time.Millisecond): // so that a backfill catches up soon
				}
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				m.version.RLock()
				err := work(ctx, m.writes.Add(1), m.both)
				m.version.RUnlock()
				cancel()
				if err != nil {
					m.Errorf("a customer is refused: %v", err)
					return
				}
			}
		})
	}
}

// meanwhile waits until customers have written some more.
func (m *move) meanwhile() {
	m.Helper()
	from := m.writes.Load()
	await(m.T, "customers have written", func() bool { return m.writes.Load() >= from+6 || m.Failed() })
}

// install is step 1; deploy is step 2, which ends when no process runs the old version.
func (m *move) install() {
	m.Helper()
	store := must[*pgstore.Store](m.T)(openPatient(m.dsn, pgstore.Config{}))
	reg, err := embedded.Open(store, dibs.Config{Policies: map[string]dibs.Policy{}, Default: dibs.Policy{Profile: lowerCase{}}})
	m.reg = must[*dibs.Registry](m.T)(reg, err)
	m.Cleanup(func() { _ = reg.Close() })
}

func (m *move) deploy() {
	m.Helper()
	m.version.Lock()
	m.both = true
	m.version.Unlock()
	m.meanwhile()
	m.run("conflicts")
}

// end ends all writes, before step 6.
func (m *move) end() {
	close(m.stop)
	m.writers.Wait()
}

// verify is step 4, several times while customers write.
func (m *move) verify(label string, want int) {
	m.Helper()
	for range 3 {
		m.meanwhile()
		if n := m.rows(label); n != want {
			m.Errorf("%s finds %d rows, want %d", label, n, want)
		}
	}
}
