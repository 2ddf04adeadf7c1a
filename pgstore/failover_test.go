package pgstore_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/pgtest"
)

// eitherOf returns the DSN of the one of two clusters that accepts writes.
func eitherOf(tb testing.TB, one, other *pgtest.Cluster) string {
	tb.Helper()
	u, err := url.Parse(one.DSN("postgres"))
	if err != nil {
		tb.Fatal(err)
	}
	v, err := url.Parse(other.DSN("postgres"))
	if err != nil {
		tb.Fatal(err)
	}
	query := u.Query()
	for _, name := range []string{"host", "port"} {
		query.Set(name, query.Get(name)+","+v.Query().Get(name))
	}
	query.Set("target_session_attrs", "read-write")
	u.RawQuery = query.Encode()
	return u.String()
}

// pair starts a primary and its synchronous standby.
func pair(tb testing.TB) (primary, standby *pgtest.Cluster) {
	tb.Helper()
	primary = pgtest.Start(tb, pgtest.Options{})
	return primary, primary.Standby(tb, "mirror")
}

// The primary is killed under load and the standby is promoted. It has all acknowledged changes, and
// the open registry goes on.
func TestPromotedStandby(t *testing.T) {
	t.Parallel()
	primary, standby := pair(t)
	reg := registry(t, place{dsn: eitherOf(t, primary, standby)}, dibs.Config{})
	j := newJournal(t, reg)
	stop := j.work()
	j.awaitProgress(300)
	primary.Kill(t)
	killed := time.Now()
	standby.Promote(t)
	promoted := time.Since(killed)
	first := j.awaitProgress(300)
	stop()
	j.check()
	t.Logf("promoted %v after the kill; calls succeeded again %v after that", promoted, first)
}

// The answer of a commit is lost that the primary has and the standby has not. It is not acknowledged
// before the standby has it. Here it never has: its caller gets the name from the promoted standby.
func TestOutcomeWaitsForTheStandby(t *testing.T) {
	t.Parallel()
	primary, standby := pair(t)
	reg := registry(t, place{dsn: eitherOf(t, primary, standby)}, dibs.Config{})
	reserve := func(value string) error {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: value, Token: strings.Repeat("secret", 4)})
		return err
	}
	if err := reserve("before"); err != nil {
		t.Fatal(err)
	}
	standby.Stop(t)
	answer := make(chan error, 1)
	go func() { answer <- reserve("alice") }()

	observer := connect(t, primary.DSN("postgres"))
	waiting := func(what string) (pid int) {
		await(t, what, func() bool {
			return observer.QueryRow(context.Background(), `SELECT pid FROM pg_stat_activity
				WHERE wait_event = 'SyncRep' AND query LIKE $1 LIMIT 1`, what).Scan(&pid) == nil
		})
		return pid
	}
	commit := waiting("%INSERT INTO%dibs_name_rows%")
	if _, err := observer.Exec(context.Background(), "SELECT pg_terminate_backend($1)", commit); err != nil {
		t.Fatal(err)
	}
	waiting("%ON CONFLICT (id) DO UPDATE SET live%") // the question for the outcome waits too
	select {
	case err := <-answer:
		t.Fatalf("answered with %v before the standby had it", err)
	default:
	}
	primary.Kill(t)
	standby.Restart(t)
	standby.Promote(t)
	if err := <-answer; err != nil {
		t.Fatal(err)
	}
	feed := readFeed(t, reg)
	if len(feed.now) != 2 || feed.now["alice"].State != dibs.Held {
		t.Errorf("the standby has %v", feed.now)
	}
}
