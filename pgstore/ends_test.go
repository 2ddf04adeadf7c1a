package pgstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/endtest"
	"github.com/calldibs/dibs/internal/pgtest"
)

// lonely is a server whose commits wait for a standby that is not there, while it is told to.
type lonely struct {
	*testing.T
	conn *pgx.Conn
}

func newLonely(t *testing.T, cluster *pgtest.Cluster) *lonely {
	t.Helper()
	return &lonely{t, must[*pgx.Conn](t)(pgx.Connect(t.Context(), cluster.DSN("postgres")))}
}

// set sets the standby that commits wait for.
func (l *lonely) set(standby string) {
	l.Helper()
	// Not the test's context: the setting is undone when the test is over.
	for _, statement := range []string{"ALTER SYSTEM SET synchronous_standby_names = '" + standby + "'", "SELECT pg_reload_conf()"} {
		if _, err := l.conn.Exec(context.Background(), statement); err != nil {
			l.Fatal(err)
		}
	}
}

// waiting is how many commits wait for the standby.
func (l *lonely) waiting() (n int) {
	l.Helper()
	if err := l.conn.QueryRow(context.Background(), "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'").Scan(&n); err != nil {
		l.Fatal(err)
	}
	return n
}

// begin sets the standby, and waits until a commit waits for it.
func (l *lonely) begin(cluster *pgtest.Cluster) {
	l.Helper()
	l.set("nobody")
	conn := must[*pgx.Conn](l.T)(pgx.Connect(context.Background(), cluster.DSN("postgres")))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, err := conn.Exec(context.Background(), "CREATE TABLE IF NOT EXISTS waits (); DROP TABLE waits"); err != nil || l.Context().Err() != nil {
				return
			}
		}
	}()
	l.Cleanup(func() {
		l.set("")
		<-done
		_ = conn.Close(context.Background())
	})
	for l.waiting() == 0 {
		time.Sleep(2 * time.Millisecond)
	}
}

// A confirmation that was decided before the hold's end waits for a standby. Nobody is told
// by another process that the hold is over, since it is not.
func TestNoHoldIsOverWhileItsConfirmationWaitsForAStandby(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t, pgtest.Options{})
	here, there := registry(t, place{dsn: cluster.DSN("postgres")}, dibs.Config{}), registry(t, place{dsn: cluster.DSN("postgres")}, dibs.Config{})
	server := newLonely(t, cluster)
	const ttl = 3 * time.Second
	hold := must[dibs.Hold](t)(here.Reserve(t.Context(), dibs.Reserve{Namespace: endtest.Namespace, Value: endtest.Value, TTL: dibs.For(ttl)}))
	server.begin(cluster)
	before := server.waiting()
	confirmed := make(chan error, 1)
	go func() {
		_, err := here.Confirm(context.Background(), dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: dibs.Entity{Type: "user", ID: "1"}})
		confirmed <- err
	}()
	for server.waiting() == before {
		select {
		case err := <-confirmed:
			t.Fatalf("the confirmation does not wait for the standby: %v", err)
		case <-time.After(2 * time.Millisecond):
		}
	}
	time.Sleep(time.Until(hold.ExpiresAt) + 50*time.Millisecond)

	endtest.Unanswered(t, there, hold.Token)
	endtest.Unanswered(t, here, hold.Token)
	server.set("")
	if err := <-confirmed; err != nil {
		t.Errorf("the confirmation: %v", err)
	}
	endtest.Confirmed(t, there, hold)
}

// A commit whose wait for the standby is cancelled is not acknowledged: the standby may never
// get it. What became of it is found out by another commit, which waits as well.
func TestCancelledWaitForAStandbyIsNoSuccess(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t, pgtest.Options{})
	reg := registry(t, place{dsn: cluster.DSN("postgres")}, dibs.Config{})
	must[dibs.Name](t)(reg.Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: "first", Entity: dibs.Entity{Type: "user", ID: "1"}}))
	server := newLonely(t, cluster)
	server.begin(cluster)
	before := server.waiting()
	answered := make(chan error, 1)
	go func() {
		_, err := reg.Claim(context.Background(), dibs.Claim{Namespace: "slug", Value: "second", Entity: dibs.Entity{Type: "user", ID: "2"}})
		answered <- err
	}()
	cancelled := 0
	for cancelled < 3 { // the commit, and those that find out what became of it
		for server.waiting() <= before {
			select {
			case err := <-answered:
				t.Fatalf("after %d cancelled waits it is answered: %v", cancelled, err)
			case <-time.After(2 * time.Millisecond):
			}
		}
		var n int
		if err := server.conn.QueryRow(t.Context(), `SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity
			WHERE wait_event = 'SyncRep' AND application_name = 'dibs'`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		cancelled += n
	}
	server.set("")
	if err := <-answered; err != nil {
		t.Errorf("with the standby no longer wanted: %v", err)
	}
}
