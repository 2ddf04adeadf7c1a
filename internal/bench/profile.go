//go:build unix

package bench

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"text/tabwriter"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs/internal/figures"
	"github.com/calldibs/dibs/internal/pgtest"
)

// profile shows where our side spends its time: CPU profiles in files, and PostgreSQL's
// statistics of statements.
type profile struct {
	dir        string
	files      int  // of the goal that is being measured
	statements bool // PostgreSQL counts them
}

// startCluster starts a durable cluster. It counts statements if a profile is wanted and the
// server has the extension.
func (l *lab) startCluster() {
	l.Helper()
	cluster := pgtest.Start(l, durable)
	l.connect(cluster)
	if l.profile == nil {
		return
	}
	l.must(os.MkdirAll(l.profile.dir, 0o755))
	const available = "SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_stat_statements')"
	l.must(l.admin.QueryRow(l.Context(), available).Scan(&l.profile.statements))
	if !l.profile.statements {
		l.Log("PostgreSQL has no pg_stat_statements: statements are not counted")
		return
	}
	l.exec("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")
	cluster.Restart(l)
	l.admin.Reset()
	l.exec("CREATE EXTENSION pg_stat_statements")
}

// profiled runs the measured part of a round. For our side it writes a CPU profile, if
// wanted, one file a round: go tool pprof can merge them.
func (l *lab) profiled(c contender, measured func()) {
	l.Helper()
	if _, ours := c.(*registry); !ours || l.profile == nil {
		measured()
		return
	}
	l.profile.files++
	file, err := os.Create(filepath.Join(l.profile.dir, fmt.Sprintf("%s-%d.prof", l.goal, l.profile.files)))
	l.must(err)
	l.must(pprof.StartCPUProfile(file))
	measured()
	pprof.StopCPUProfile()
	l.must(file.Close())
}

// startProfile drops the data of the previous goal.
func (l *lab) startProfile() {
	l.Helper()
	if l.profile == nil {
		return
	}
	l.profile.files = 0
	if l.profile.statements {
		l.exec("SELECT pg_stat_statements_reset()")
	}
}

type statement struct {
	Calls, Rows int64
	Total, Mean float64 // milliseconds
	Query       string
}

// printStatements prints the statements that took most of the database's time, warm-ups
// included, on our side.
func (l *lab) printStatements(out io.Writer) {
	l.Helper()
	if l.profile == nil || !l.profile.statements {
		return
	}
	// Each round has its own database, so a statement has one row for each.
	found, err := l.admin.Query(l.Context(), `
		SELECT sum(calls)::bigint AS calls, sum(rows)::bigint AS rows, sum(total_exec_time) AS total,
			sum(total_exec_time) / sum(calls) AS mean, query
		FROM pg_stat_statements
		WHERE query NOT LIKE '%tenant_slug_registry%' AND query !~* '^(create|drop|alter|checkpoint|vacuum|comment)'
		GROUP BY query ORDER BY total DESC LIMIT 12`)
	l.must(err)
	top, err := pgx.CollectRows(found, pgx.RowToStructByName[statement])
	l.must(err)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "%s, in PostgreSQL:\n  total ms\tcalls\trows\tmean ms\tstatement\n", l.goal)
	for _, s := range top {
		query := []rune(strings.Join(strings.Fields(s.Query), " "))
		fmt.Fprintf(table, "  %s\t%s\t%s\t%.3f\t%s\n", figures.Thousands(s.Total), figures.Thousands(float64(s.Calls)),
			figures.Thousands(float64(s.Rows)), s.Mean, string(query[:min(len(query), 110)]))
	}
	l.must(table.Flush())
}
