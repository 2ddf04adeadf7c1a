//go:build unix

// Package etcdtest starts real, private etcd clusters for tests. Each member is a separate process, so
// members can be killed, paused and cut off as in production. Its program is in the folder member; it is
// built when the first cluster starts, and kept in the user's cache. Data is in a temporary folder, ports
// are on the loopback interface, and all is gone when the test binary has ended. Options.Program or
// DIBS_TEST_ETCD may name another etcd program for members.
package etcdtest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/calldibs/dibs/internal/freeport"
	"github.com/calldibs/dibs/internal/harness"
)

// patience is how long a cluster may take for any step on a busy machine.
const patience = time.Minute

// Options change the defaults of a cluster.
type Options struct {
	// Members is the number of members. Zero means three.
	Members int
	// MaxTxnOps is --max-txn-ops. Zero means etcd's own default.
	MaxTxnOps uint
	// Quota is --quota-backend-bytes. Zero means etcd's own default.
	Quota int64
	// Sync keeps commits when the power fails, as a benchmark needs. Without it, they are
	// kept when processes are killed.
	Sync bool
	// Folder gets the folder with the data of the members. Empty means one for temporary files.
	Folder string
	// Logs is a folder that gets the log of each member. Empty means that there is none.
	Logs string
	// TLS makes members accept only TLS, with self-signed certificates.
	TLS bool
	// Program is the etcd that members run. Empty means the program in the folder member, or
	// that of DIBS_TEST_ETCD.
	Program string
	// Between puts something between the members: it gets the address at which a member listens
	// for the others, and returns the one that they use. Nil means nothing.
	Between func(member int, address string) (string, error)
	// Network puts each member into its own network, so that it can be cut off. See
	// [RequireNetwork].
	Network bool
}

// Cluster is an etcd cluster with its data. Call its methods from one goroutine at a time,
// except for Endpoints, Prefix and Client.
type Cluster struct {
	// Members are the servers of the cluster.
	Members []*Member

	dir      string
	forget   func() // that the guard removes dir
	tls      *tls.Config
	network  *network // nil if there is none
	ports    []func() // release the ports of the members
	prefixes atomic.Int64
}

var shared struct {
	sync.Mutex
	cluster *Cluster
}

// Shared returns the cluster of three members that all tests of a test binary share, for
// tests that need only their own prefix. Its members accept transactions of every size in
// the conformance suite.
func Shared(tb harness.TB) *Cluster {
	tb.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster == nil {
		c, err := start(Options{MaxTxnOps: 4096})
		if err != nil {
			tb.Fatal(err)
		}
		shared.cluster = c
	}
	return shared.cluster
}

// Main is for TestMain: it runs the tests, and ends the shared cluster.
func Main(m *testing.M) {
	code := m.Run()
	shared.Lock()
	if shared.cluster != nil {
		shared.cluster.stop()
	}
	os.Exit(code)
}

// Start starts a separate cluster for the test, which ends with the test.
func Start(tb harness.TB, opts Options) *Cluster {
	tb.Helper()
	c, err := start(opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.stop)
	return c
}

// Processes returns the IDs of the members' processes.
func (c *Cluster) Processes() (pids []int) {
	for _, m := range c.Members {
		pids = append(pids, m.process.Process.Pid)
	}
	return pids
}

func start(opts Options) (*Cluster, error) {
	c, err := prepare(opts)
	if err == nil {
		err = c.launch()
	}
	return c, err
}

// prepare returns a cluster whose members are not started.
func prepare(opts Options) (*Cluster, error) {
	if opts.Members == 0 {
		opts.Members = 3
	}
	dir, err := os.MkdirTemp(opts.Folder, "etcdtest")
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir, forget: harness.GuardFolder(dir)}
	if opts.TLS {
		c.tls = &tls.Config{InsecureSkipVerify: true} // for the package's own requests
	}
	addresses, err := c.addresses(opts)
	if err != nil {
		return nil, err
	}
	var initial []string
	for i, address := range addresses {
		m := &Member{config: config{
			Program: opts.Program, Name: fmt.Sprintf("member%d", i), Dir: filepath.Join(dir, fmt.Sprint(i)),
			Client: address.client, Peer: address.peer, Advertise: address.peer,
			MaxTxnOps: opts.MaxTxnOps, Quota: opts.Quota, Sync: opts.Sync, TLS: opts.TLS,
		}, tls: c.tls, network: c.network, index: i}
		if opts.Logs != "" {
			m.config.Log = filepath.Join(opts.Logs, m.config.Name+".log")
		}
		if opts.Between != nil {
			if m.config.Advertise, err = opts.Between(i, address.peer); err != nil {
				return nil, err
			}
		}
		initial = append(initial, m.config.Name+"=http://"+m.config.Advertise)
		c.Members = append(c.Members, m)
	}
	for _, m := range c.Members {
		m.config.Cluster = strings.Join(initial, ",")
	}
	return c, nil
}

// launch starts the members, and returns once the cluster accepts writes.
func (c *Cluster) launch() error {
	for _, m := range c.Members {
		if err := m.start(); err != nil {
			c.stop()
			return err
		}
	}
	if err := c.await(); err != nil {
		c.stop()
		return err
	}
	return nil
}

// address is where a member listens.
type address struct{ client, peer string }

// addresses returns the addresses of the members, in a new network for them or on the
// loopback interface.
func (c *Cluster) addresses(opts Options) ([]address, error) {
	addresses := make([]address, opts.Members)
	if opts.Network {
		var err error
		if c.network, err = newNetwork(opts.Members); err != nil {
			return nil, err
		}
		for i := range addresses {
			addresses[i] = address{c.network.client(i) + ":2379", c.network.peer(i) + ":2380"}
		}
		return addresses, nil
	}
	for i := range addresses {
		for _, of := range []*string{&addresses[i].client, &addresses[i].peer} {
			port, release, err := freeport.Take()
			if err != nil {
				return nil, err
			}
			c.ports = append(c.ports, release)
			*of = fmt.Sprintf("127.0.0.1:%d", port)
		}
	}
	return addresses, nil
}

// Endpoints are the addresses of all members.
func (c *Cluster) Endpoints() []string {
	endpoints := make([]string, len(c.Members))
	for i, m := range c.Members {
		endpoints[i] = m.Endpoint()
	}
	return endpoints
}

// Prefix returns a prefix that is unique in the cluster.
func (c *Cluster) Prefix() string { return fmt.Sprintf("test%d/", c.prefixes.Add(1)) }

// Client returns a client of the cluster, which is closed with the test.
func (c *Cluster) Client(tb harness.TB) *clientv3.Client {
	tb.Helper()
	client, err := connect(c.tls, c.Endpoints()...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

func connect(secure *tls.Config, endpoints ...string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: endpoints, TLS: secure, DialTimeout: patience, Logger: zap.NewNop()})
}

// Leader returns the leader and the other members.
func (c *Cluster) Leader(tb harness.TB) (leader *Member, followers []*Member) {
	tb.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		leader, followers = nil, nil
		for _, m := range c.Members {
			if leads, err := m.leads(); err == nil && leads && leader == nil {
				leader = m
			} else {
				followers = append(followers, m)
			}
		}
		if leader != nil {
			return leader, followers
		}
	}
	tb.Fatal("etcdtest: the cluster has no leader")
	return nil, nil
}

// Revive starts members that have ended by themselves, and returns once all answer. A member that starts only answers when
// it reaches most of the others.
func (c *Cluster) Revive(tb harness.TB) {
	tb.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		var failed error
		for _, m := range c.Members {
			if m.failure() != "" {
				m.Restart(tb)
			}
			_, err := m.leads()
			failed = errors.Join(failed, err)
		}
		if failed == nil {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("etcdtest: not all members answer: %v", failed)
		}
	}
}

// await waits until the cluster accepts writes.
func (c *Cluster) await() error {
	client, err := connect(c.tls, c.Endpoints()...)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		_, err := client.Put(ctx, "etcdtest", "")
		cancel()
		if err == nil {
			return nil
		}
		for _, m := range c.Members {
			if said := m.failure(); said != "" {
				return fmt.Errorf("etcdtest: %s ended: %s", m.config.Name, said)
			}
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("etcdtest: the cluster does not start: %w", err)
		}
	}
}

func (c *Cluster) stop() {
	for _, m := range c.Members {
		m.end()
	}
	if c.network != nil {
		c.network.remove(len(c.Members))
	}
	for _, release := range c.ports {
		release()
	}
	_ = os.RemoveAll(c.dir) // leftovers are in a temporary folder
	c.forget()
}
