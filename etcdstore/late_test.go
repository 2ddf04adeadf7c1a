//go:build unix

package etcdstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/etcdstore"
	"github.com/calldibs/dibs/internal/etcdtest"
)

// A confirmation is on its way for so long that its hold is over meanwhile, and somebody has
// seen that. Then it is too late: what was seen to be over stays so.
func TestWhatWasSeenToBeOverStaysSo(t *testing.T) {
	t.Parallel()
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
			if ok && len(txn.Compare) > 0 {
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

	hold, err := late.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "late", TTL: dibs.For(500 * time.Millisecond)})
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
	eventually(t, "the hold is seen to be over", func() bool {
		found, err := reader.Get(t.Context(), dibs.Lookup{ID: hold.ID})
		return err == nil && found.Status == dibs.StatusExpired
	})
	close(arrives)
	if err := <-confirmed; !errors.Is(err, dibs.ErrAlreadyExpired) {
		t.Errorf("the confirmation is answered with %v", err)
	}
	if found, err := reader.Get(t.Context(), dibs.Lookup{ID: hold.ID}); err != nil || found.Status != dibs.StatusExpired {
		t.Errorf("the hold was over, and now it is %s, %v", found.Status, err)
	}
}
