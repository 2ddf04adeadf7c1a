//go:build unix

package etcdstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/core"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/etcdstore"
	"github.com/calldibs/dibs/internal/etcdtest"
)

// A member loses the others, while clients still reach it. A client of that member alone can
// neither read nor write, and never gets old data. The others serve a client of all members. After
// the partition all give the same answers.
func TestPartition(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes a while")
	}
	etcdtest.RequireNetwork(t)
	for _, c := range []struct {
		name   string
		always bool
		victim func(leader, follower *etcdtest.Member) *etcdtest.Member
	}{
		{"the leader", false, func(leader, _ *etcdtest.Member) *etcdtest.Member { return leader }},
		{"a follower", true, func(_, follower *etcdtest.Member) *etcdtest.Member { return follower }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !c.always && !long() {
				t.Skip("DIBS_TEST_LONG is not set")
			}
			t.Parallel()
			cluster := etcdtest.Start(t, etcdtest.Options{Network: true})
			for range rounds() {
				leader, followers := cluster.Leader(t)
				partition(t, cluster, c.victim(leader, followers[0]))
			}
		})
	}
}

// partition isolates a member for a while, under load.
func partition(t *testing.T, cluster *etcdtest.Cluster, victim *etcdtest.Member) {
	t.Helper()
	cfg := quiet(cluster)
	cfg.Prefix = cluster.Prefix()
	all := register(t, cfg, dibs.Config{})
	crowd := gather(all)
	crowd.servedAfter(t, time.Now())
	lone := newMinority(t, cfg, victim)
	cfg.Endpoints = slices.DeleteFunc(cluster.Endpoints(), func(e string) bool { return e == victim.Endpoint() })
	majority := register(t, cfg, dibs.Config{})

	moment := time.Now()
	victim.Isolate(t)
	served := make(chan time.Duration, 1)
	go func() { served <- crowd.servedAfter(t, moment) }()
	// At once: a member needs half a second to notice that it has lost the others.
	lone.overtake(majority)
	lone.cannotRead()
	inTime(t, "serving the majority again", <-served, back)
	unserved := crowd.unserved.Load()
	during := lone.cannotWrite()
	if n := crowd.unserved.Load() - unserved; n > 0 {
		t.Errorf("%d calls of clients of all members were UNAVAILABLE", n)
	}
	victim.Rejoin(t)
	moment = time.Now()
	lone.repeat(during)
	t.Logf("the outcomes in the minority were known %v after the partition", time.Since(moment))
	lone.seesTheSame(all)
	crowd.check(t)
}

// minority is a client of one member, which will lose the others.
type minority struct {
	*testing.T
	victim *etcdtest.Member
	prefix string
	store  *etcdstore.Store
	reg    *dibs.Registry
}

// lonePatience is how long the minority's store waits for an answer.
const lonePatience = 1500 * time.Millisecond

// toFail is how long a call in the minority may take: not much longer than the store's timeout, and a
// command may have to find out its outcome.
const toFail = 2*lonePatience + time.Second

var (
	alice = dibs.Entity{Type: "user", ID: "alice"}
	bob   = dibs.Entity{Type: "user", ID: "bob"}
)

// newMinority opens a store on one member. The name "contested" is alice's then.
func newMinority(t *testing.T, cfg etcdstore.Config, victim *etcdtest.Member) *minority {
	t.Helper()
	cfg.Endpoints, cfg.Timeout = []string{victim.Endpoint()}, lonePatience
	m := &minority{T: t, victim: victim, prefix: cfg.Prefix, store: open(t, cfg)}
	var err error
	if m.reg, err = core.Open(m.store, dibs.Config{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the member serves", func() bool {
		_, err := m.reg.Claim(t.Context(), dibs.Claim{Namespace: "handle", Value: "contested", Entity: alice})
		return err == nil
	})
	return m
}

// overtake gives "contested" to bob, on the other side.
func (m *minority) overtake(majority *dibs.Registry) {
	m.Helper()
	eventually(m.T, "the majority takes a change", func() bool {
		_, err := majority.Transfer(m.Context(), dibs.Transfer{Namespace: "handle", Value: "contested", From: alice, To: bob})
		return err == nil
	})
}

// cannotRead makes every read, which must fail. A serializable read shows that the member has old
// data that it could return.
func (m *minority) cannotRead() {
	m.Helper()
	ctx := context.Background()
	var asked sync.WaitGroup
	for question, ask := range map[string]func() error{
		"Resolve": func() error { _, err := m.reg.Resolve(ctx, "handle", "contested"); return err },
		"Get": func() error {
			_, err := m.reg.Get(ctx, dibs.Lookup{Namespace: "handle", Value: "contested"})
			return err
		},
		"Check": func() error {
			_, err := m.reg.Check(ctx, dibs.CheckRequest{Namespace: "handle", Values: []string{"contested"}})
			return err
		},
		"Entity":  func() error { _, err := m.reg.Entity(ctx, "", alice); return err },
		"List":    func() error { _, err := m.reg.List(ctx, dibs.NamesQuery{Namespace: "handle"}); return err },
		"History": func() error { _, err := m.reg.History(ctx, "handle", "contested"); return err },
		"Events":  func() error { _, err := m.reg.Events(ctx, dibs.FeedQuery{Limit: 1}); return err },
		"Load":    func() error { _, err := m.store.Load(ctx, nil); return err },
		"Owned":   func() error { _, err := m.store.Owned(ctx, "", alice, 1); return err },
		"Due":     func() error { _, err := m.store.Due(ctx, 1); return err },
		"Ping":    func() error { return m.store.Ping(ctx) },
	} {
		asked.Go(func() {
			began := time.Now()
			if err := ask(); !errors.Is(err, dibs.ErrUnavailable) {
				m.Errorf("%s is answered in the minority: %v", question, err)
			}
			inTime(m.T, question, time.Since(began), toFail)
		})
	}
	asked.Wait()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{m.victim.Endpoint()}, Logger: zap.NewNop()})
	if err != nil {
		m.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	past, err := client.Get(ctx, m.prefix, clientv3.WithPrefix(), clientv3.WithSerializable(), clientv3.WithCountOnly())
	if err != nil || past.Count == 0 {
		m.Errorf("the member has no old data: %v", err)
	}
}

// cannotWrite tries to take a name, and to change one that has changed.
func (m *minority) cannotWrite() dibs.Reserve {
	m.Helper()
	during := dibs.Reserve{Namespace: "handle", Value: fmt.Sprint("during-", time.Now().UnixNano()), Token: dibs.NewToken()}
	var asked sync.WaitGroup
	for _, command := range []dibs.Command{
		during, dibs.Rename{Namespace: "handle", Value: "renamed", Entity: alice}, dibs.Archive{Entity: alice},
	} {
		asked.Go(func() {
			began := time.Now()
			if _, err := m.reg.Apply(context.Background(), command); !errors.Is(err, dibs.ErrUnavailable) && !errors.Is(err, dibs.ErrOutcomeUnknown) {
				m.Errorf("%T is answered in the minority: %v", command, err)
			}
			inTime(m.T, fmt.Sprintf("%T", command), time.Since(began), toFail)
		})
	}
	asked.Wait()
	return during
}

// repeat repeats a request with the same token until it is answered.
func (m *minority) repeat(during dibs.Reserve) {
	m.Helper()
	eventually(m.T, "the same token gets an answer", func() bool {
		_, err := m.reg.Reserve(context.Background(), during)
		return err == nil
	})
	wantReplay(m.T, m.reg, during)
}

// seesTheSame compares the answers of both sides after the partition.
func (m *minority) seesTheSame(majority *dibs.Registry) {
	m.Helper()
	for _, reg := range []*dibs.Registry{m.reg, majority} {
		var found dibs.Resolution
		err := answered(m.T, "contested", func() (err error) {
			found, err = reg.Resolve(context.Background(), "handle", "contested")
			return err
		})
		if err != nil || found.Entity != bob {
			m.Errorf("contested resolves to %v, %v, want bob", found.Entity, err)
		}
	}
}

// Every member has lost all others: no read is answered. After the partition all is as before.
func TestEveryMemberAlone(t *testing.T) {
	t.Parallel()
	etcdtest.RequireNetwork(t)
	if !long() {
		t.Skip("DIBS_TEST_LONG is not set")
	}
	cluster := etcdtest.Start(t, etcdtest.Options{Network: true})
	leader, _ := cluster.Leader(t)
	lone := newMinority(t, quiet(cluster), leader)
	cfg := quiet(cluster)
	cfg.Timeout = lonePatience
	all := register(t, cfg, dibs.Config{})
	for _, member := range cluster.Members {
		member.Isolate(t)
	}
	lone.cannotRead()
	during := lone.cannotWrite()
	if _, err := all.Resolve(t.Context(), "handle", "contested"); !errors.Is(err, dibs.ErrUnavailable) {
		t.Errorf("a client of all members: %v, want UNAVAILABLE", err)
	}
	for _, member := range cluster.Members {
		member.Rejoin(t)
	}
	moment := time.Now()
	lone.repeat(during)
	t.Logf("served again %v after the partition", time.Since(moment))
	if _, err := all.Restore(t.Context(), dibs.Restore{Entity: alice}); err != nil { // it may have been archived meanwhile
		t.Error(err)
	}
	if found, err := all.Resolve(t.Context(), "handle", "contested"); err != nil || found.Entity != alice {
		t.Errorf("contested resolves to %v, %v, want alice", found.Entity, err)
	}
}
