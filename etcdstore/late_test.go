//go:build unix

package etcdstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/etcdstore"
	"github.com/calldibs/dibs/internal/etcdtest"
)

// A confirmation is under way when another server reports that its hold has expired. Then the
// confirmation must fail.
func TestLateConfirmationOfAnExpiredHold(t *testing.T) {
	t.Parallel()
	t.Run("stamped once", func(t *testing.T) {
		t.Parallel()
		confirmLate(t, nil)
	})
	// Each time that it loses a race it leaps further ahead in the order: by 8 ms, 32 ms, 128 ms,
	// and at last by half a second.
	t.Run("leapt ahead in the order", func(t *testing.T) {
		t.Parallel()
		confirmLate(t, []time.Duration{0, 10 * time.Millisecond, 35 * time.Millisecond, 135 * time.Millisecond})
	})
}

// confirmLate makes a confirmation lose races, each after a while, and then holds it back until
// its hold is reported as expired.
func confirmLate(t *testing.T, losses []time.Duration) {
	cluster := etcdtest.Shared(t)
	cfg := etcdstore.Config{Endpoints: cluster.Endpoints(), Prefix: cluster.Prefix(), Timeout: patience}
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
				time.Sleep(losses[0])
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

	hold, err := late.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "late", TTL: dibs.For(700 * time.Millisecond)})
	if err != nil {
		t.Fatal(err)
	}
	close(armed)
	confirmed := make(chan error, 1)
	go func() {
		_, err := late.Confirm(context.Background(), dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: dibs.Entity{Type: "user", ID: "1"}})
		confirmed <- err
	}()
	<-sent
	eventually(t, "the hold has expired", func() bool {
		found, err := reader.Get(t.Context(), dibs.Lookup{ID: hold.ID})
		return err == nil && found.Status == dibs.StatusExpired
	})
	close(arrives)
	if err := <-confirmed; !errors.Is(err, dibs.ErrAlreadyExpired) {
		t.Errorf("the confirmation: %v, want ALREADY_EXPIRED", err)
	}
	if found, err := reader.Get(t.Context(), dibs.Lookup{ID: hold.ID}); err != nil || found.Status != dibs.StatusExpired {
		t.Errorf("the hold had expired, and is now %s, %v", found.Status, err)
	}
}
