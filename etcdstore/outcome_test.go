//go:build unix

package etcdstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/etcdstore"
	"github.com/calldibs/dibs/internal/etcdtest"
)

var errLost = status.Error(codes.Unavailable, "error reading from server: EOF")

// loss loses the next transactions: it may send them, but drops the answers.
type loss struct {
	next   atomic.Int32 // how many are lost
	sent   bool
	late   bool  // sent after the store has given it up
	answer error // the answer instead; nil: the connection is lost
	failed error
	gone   chan struct{} // closed when a late one was answered
}

func (l *loss) intercept(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if method != "/etcdserverpb.KV/Txn" || l.next.Add(-1) < 0 {
		return invoke(ctx, method, req, reply, conn, opts...)
	}
	switch {
	case l.late:
		ctx = context.WithoutCancel(ctx)
		time.AfterFunc(300*time.Millisecond, func() {
			l.failed = invoke(ctx, method, req, reply, conn, opts...)
			close(l.gone)
		})
	case l.sent:
		_ = invoke(ctx, method, req, reply, conn, opts...)
	}
	if l.answer != nil {
		return l.answer
	}
	return errLost
}

// lossy opens a store whose transactions can be lost.
func lossy(t *testing.T) (*etcdstore.Store, *loss) {
	t.Helper()
	l := &loss{gone: make(chan struct{})}
	cluster := etcdtest.Shared(t)
	cfg := etcdstore.Config{Endpoints: cluster.Endpoints(), Prefix: cluster.Prefix(), Timeout: patience}
	return open(t, etcdstore.Intercept(cfg, l.intercept)), l
}

// newName makes a group that stores a new name with its event.
func newName(canonical, principal string) dibs.Group {
	n := &dibs.NameRecord{
		ID: dibs.NameID("slug", canonical), Rev: 1, Namespace: "slug", Canonical: canonical, Value: canonical, Profile: "exact/1",
		State: dibs.Held, Status: dibs.StatusReserved, Epoch: 1, Principal: principal, Token: dibs.TokenHash{1},
	}
	event := dibs.Event{
		Kind: dibs.EventReserved, ID: n.ID, Namespace: "slug", Canonical: canonical, Value: canonical, Rev: 1, Epoch: 1,
		After: dibs.Snapshot{State: n.State, Status: n.Status, Epoch: 1},
	}
	return dibs.Group{Reads: []dibs.Read{{Ref: n.Ref()}}, Writes: []dibs.Write{{Record: n}}, Events: []dibs.Event{event}}
}

func commit(t *testing.T, store dibs.Store, groups ...dibs.Group) []dibs.Outcome {
	t.Helper()
	outcomes, err := store.Commit(t.Context(), groups)
	if err != nil {
		t.Fatal(err)
	}
	return outcomes
}

// events counts the events.
func events(t *testing.T, store dibs.Store) int {
	t.Helper()
	all, err := store.Events(t.Context(), dibs.EventQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// The store finds out that a transaction was applied, and which of its groups.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	store, l := lossy(t)
	commit(t, store, newName("taken", "a"))
	l.sent = true
	l.next.Store(1)
	got := commit(t, store, newName("one", "a"), newName("taken", "b"), newName("two", "a"))
	if want := []dibs.Outcome{dibs.Committed, dibs.Stale, dibs.Committed}; !slices.Equal(got, want) {
		t.Errorf("outcomes %v, want %v", got, want)
	}
	if n := events(t, store); n != 3 {
		t.Errorf("%d events, want 3", n)
	}
}

// A transaction that was never sent is sent again.
func TestLostRequest(t *testing.T) {
	t.Parallel()
	store, l := lossy(t)
	l.next.Store(1)
	if got := commit(t, store, newName("one", "a")); got[0] != dibs.Committed {
		t.Errorf("outcome %v, want committed", got[0])
	}
	if n := events(t, store); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
}

// A transaction that arrives after it was given up changes nothing.
func TestLateRequest(t *testing.T) {
	t.Parallel()
	store, l := lossy(t)
	l.late = true
	l.next.Store(1)
	if got := commit(t, store, newName("one", "a")); got[0] != dibs.Committed {
		t.Errorf("outcome %v, want committed", got[0])
	}
	<-l.gone
	if l.failed != nil {
		t.Errorf("the late transaction failed: %v", l.failed)
	}
	if n := events(t, store); n != 1 {
		t.Errorf("%d events, want 1: the transaction that was given up was applied too", n)
	}
}

// A full member may report that it is full although it has applied the transaction.
func TestFullMember(t *testing.T) {
	t.Parallel()
	store, l := lossy(t)
	l.answer, l.sent = rpctypes.ErrGRPCNoSpace, true
	l.next.Store(1)
	if got := commit(t, store, newName("one", "a")); got[0] != dibs.Committed {
		t.Errorf("outcome %v, want committed", got[0])
	}
	l.sent = false
	l.next.Store(1)
	_, err := store.Commit(t.Context(), []dibs.Group{newName("two", "a")})
	if !errors.Is(err, dibs.ErrUnavailable) || !strings.Contains(err.Error(), "NOSPACE") {
		t.Errorf("%v, want UNAVAILABLE that names the alarm", err)
	}
	if n := events(t, store); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
}

// If the outcome cannot be found out, the error is OUTCOME_UNKNOWN.
func TestOutcomeUnknown(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Shared(t)
	l := &loss{sent: true}
	cfg := etcdstore.Config{Endpoints: cluster.Endpoints(), Prefix: cluster.Prefix(), Timeout: 3 * time.Second}
	store := open(t, etcdstore.Intercept(cfg, l.intercept))
	l.next.Store(1 << 20)
	_, err := store.Commit(t.Context(), []dibs.Group{newName("one", "a")})
	if !errors.Is(err, dibs.ErrOutcomeUnknown) {
		t.Errorf("%v, want OUTCOME_UNKNOWN", err)
	}
	l.next.Store(0)
	cfg.Timeout = patience
	if got := commit(t, open(t, cfg), newName("one", "a")); got[0] != dibs.Stale {
		t.Errorf("outcome %v, want stale: it was applied", got[0])
	}
}

// A confirmation is under way when another server reports that its hold has expired. Then the
// confirmation must fail.
func TestLateConfirmationOfAnExpiredHold(t *testing.T) {
	t.Parallel()
	// The other server's report has a higher order.
	t.Run("stamped once", func(t *testing.T) {
		t.Parallel()
		confirmLate(t, nil)
	})
	// Each lost race makes the confirmation leap ahead in the order: by 8 ms, 32 ms, 128 ms, and at last by
	// half a second. This is more than the hold lasts: only its time is too early.
	t.Run("leapt ahead in the order", func(t *testing.T) {
		t.Parallel()
		confirmLate(t, []time.Duration{time.Millisecond, 10 * time.Millisecond, 35 * time.Millisecond, 135 * time.Millisecond})
	})
}

// confirmLate makes a confirmation lose races, each after a while, and then holds it back until
// its hold is reported as expired. The time of both servers stands still in between.
func confirmLate(t *testing.T, losses []time.Duration) {
	t.Helper()
	const ttl = 400 * time.Millisecond
	began := time.Now()
	var gone atomic.Int64
	cluster := etcdtest.Shared(t)
	cfg := etcdstore.Config{
		Endpoints: cluster.Endpoints(), Prefix: cluster.Prefix(), MaxSkew: -1,
		Timeout: 10 * patience, // for one call, during which there are several of the other server
		Now:     func() time.Time { return began.Add(time.Duration(gone.Load())) },
	}
	policy := dibs.Config{Default: dibs.Policy{MinTTL: time.Millisecond}}
	reader := register(t, cfg, policy)
	armed, sent, arrives := make(chan struct{}), make(chan struct{}, 1), make(chan struct{})
	late := register(t, etcdstore.Intercept(cfg, func(ctx context.Context, method string,
		req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
	) error {
		txn, ok := req.(*etcdserverpb.TxnRequest)
		select {
		case <-armed:
			if ok && len(txn.Compare) > 0 && len(losses) > 0 {
				gone.Add(int64(losses[0]))
				losses = losses[1:]
				if _, err := reader.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: fmt.Sprint("faster-", len(losses))}); err != nil {
					t.Error(err)
				}
			} else if ok && len(txn.Compare) > 0 {
				select {
				case sent <- struct{}{}:
				default:
				}
				<-arrives
			}
		default:
		}
		return invoke(ctx, method, req, reply, conn, opts...)
	}), policy)

	hold, err := late.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "late", TTL: dibs.For(ttl)})
	if err != nil {
		t.Fatal(err)
	}
	close(armed)
	confirmed := make(chan error, 1)
	go func() {
		_, err := late.Confirm(context.Background(), dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: dibs.Entity{Type: "user", ID: "1"}})
		confirmed <- err
	}()
	select {
	case <-sent:
	case err := <-confirmed:
		t.Fatalf("the confirmation: %v, before it was sent", err)
	}
	gone.Store(int64(ttl))
	expired := func() {
		t.Helper()
		if found, err := reader.Get(t.Context(), dibs.Lookup{ID: hold.ID}); err != nil || found.Status != dibs.StatusExpired {
			t.Errorf("the hold is %s, %v, want expired", found.Status, err)
		}
	}
	expired()
	close(arrives)
	if err := <-confirmed; !errors.Is(err, dibs.ErrAlreadyExpired) {
		t.Errorf("the confirmation: %v, want ALREADY_EXPIRED", err)
	}
	expired()
}
