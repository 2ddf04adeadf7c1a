package etcdstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// Config holds a store's settings. Only Endpoints are required.
type Config struct {
	// Endpoints are the addresses of the members, as host:port or as URLs. List all of them:
	// requests go to each in turn, and skip those that do not answer.
	Endpoints []string

	// Prefix is the prefix of all keys. Empty means "dibs/". Registries with different prefixes
	// are independent; no prefix may begin with another one.
	Prefix string

	// TLS secures the connections. Nil means no TLS.
	TLS *tls.Config

	// Username and Password are those of a user of etcd with read and write access to the
	// prefix. Empty means no login.
	Username, Password string

	// MaxTxnOps is --max-txn-ops of the members. Zero means that Open finds it out.
	MaxTxnOps int

	// MaxSkew is how much the clocks of servers may differ. A server that differs more from most
	// of the others refuses to write. Zero means 500 ms; negative means no check.
	MaxSkew time.Duration

	// Timeout limits one call to the cluster; one member gets a third of it. Zero means 3
	// seconds.
	Timeout time.Duration

	// Writers is how many batches the registry commits at once, unless its own Config sets it.
	// Zero means 1: of two concurrent transactions one must usually be sent again.
	Writers int

	// Logger logs wrong clocks. Nil means [slog.Default].
	Logger *slog.Logger

	// Now is for tests: it replaces this machine's clock. Nil means [time.Now].
	Now func() time.Time

	// For tests alone.
	intercept    grpc.UnaryClientInterceptor // between the client and the cluster
	publishEvery time.Duration
}

func (c *Config) setDefaults() error {
	if len(c.Endpoints) == 0 {
		return errors.New("etcdstore: Endpoints are missing: list the members of the cluster, as host:port")
	}
	c.Prefix = cmp.Or(c.Prefix, "dibs/")
	if strings.Contains(c.Prefix, nul) {
		return errors.New("etcdstore: the Prefix contains a NUL: choose another one")
	}
	c.MaxSkew = cmp.Or(c.MaxSkew, 500*time.Millisecond)
	c.publishEvery = cmp.Or(c.publishEvery, publishEvery)
	c.Writers = max(c.Writers, 1)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	if c.Timeout <= 0 {
		c.Timeout = 3 * time.Second
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return nil
}

const (
	keepAlive   = 10 * time.Second // gRPC does not allow less
	maxSendSize = 64 << 20         // the servers have a lower limit, and report it
)

// Open opens the registry under a prefix, and creates it if it is missing. Errors match
// [ErrNewerLayout] or [ErrForeignKeys], or say what is wrong with the cluster.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	var dial []grpc.DialOption
	if cfg.intercept != nil {
		dial = append(dial, grpc.WithChainUnaryInterceptor(cfg.intercept))
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: cfg.Endpoints, TLS: cfg.TLS, Username: cfg.Username, Password: cfg.Password,
		DialTimeout: cfg.Timeout, DialKeepAliveTime: keepAlive, DialKeepAliveTimeout: cfg.Timeout,
		MaxCallSendMsgSize: maxSendSize, DialOptions: dial,
		Logger: zap.NewNop(), // it would write to standard error; calls return what matters
	})
	if err != nil {
		return nil, fmt.Errorf("etcdstore: %w", err)
	}
	running, stop := context.WithCancel(context.Background())
	s := &Store{
		cfg: cfg, client: client, keys: keys{cfg.Prefix}, server: rand.Text()[:serverSize],
		clock: &clock{wall: cfg.Now}, footprints: newFootprints(), stop: stop, running: running,
	}
	s.skew = &skew{
		most: cfg.MaxSkew, self: s.server, key: s.keys.servers() + s.server,
		joined: make(chan struct{}, 1), others: make(map[string]otherClock),
	}
	if err := s.start(ctx); err != nil {
		stop()
		s.working.Wait()
		_ = client.Close()
		if causeOf(err) != "" {
			err = unavailable(err) // a program can wait for the cluster
		}
		return nil, fmt.Errorf("etcdstore: %w", err)
	}
	return s, nil
}

// serverSize is the number of characters of a server's id.
const serverSize = 10

// start creates or checks the registry, finds the limits of the cluster, and joins the servers.
func (s *Store) start(ctx context.Context) error {
	for _, step := range []func(context.Context) error{s.create, s.findMaxOps, s.removeOldMarkers} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if s.cfg.MaxSkew < 0 {
		return nil
	}
	if err := s.joinServers(ctx); err != nil {
		return err
	}
	if err := s.checkClock(); err != nil {
		// Writes are refused until the clock is right.
		s.cfg.Logger.ErrorContext(ctx, err.Error())
	}
	return nil
}

// create creates a registry under an empty prefix, and checks an existing one.
func (s *Store) create(ctx context.Context) error {
	const version = string(rune('0' + layout))
	first := s.clock.next(0)
	answer, err := s.transact(ctx, func(t clientv3.Txn) clientv3.Txn {
		return t.If(clientv3.Compare(clientv3.CreateRevision(s.keys.prefix).WithRange(prefixEnd(s.keys.prefix)), "=", 0)).
			Then(clientv3.OpPut(s.keys.format(), version), clientv3.OpPut(s.keys.clock(), first.encode()),
				clientv3.OpPut(s.keys.finalUntil(), string(number(0)))).
			Else(clientv3.OpGet(s.keys.format()), clientv3.OpGet(s.keys.clock()))
	})
	if err != nil {
		return err
	}
	if answer.Succeeded {
		s.clock.learn(first)
		return nil
	}
	format := answer.Responses[0].GetResponseRange().Kvs
	switch {
	case len(format) == 0:
		return ErrForeignKeys
	case string(format[0].Value) != version:
		return ErrNewerLayout
	}
	if _, err := s.learnStamp(answer.Responses[1].GetResponseRange().Kvs); err != nil {
		return err
	}
	return s.createFinalUntil(ctx)
}

// markerLife is how long a marker stays that its server did not remove. A commit reads its
// marker much sooner.
const markerLife = 24 * time.Hour

// removeOldMarkers removes the markers of servers that were killed.
func (s *Store) removeOldMarkers(ctx context.Context) error {
	kvs, _, _, err := s.scan(ctx, s.keys.markers(), prefixEnd(s.keys.markers()), 1000)
	if err != nil {
		return err
	}
	for _, kv := range kvs {
		mark, ok := decodeStamp(kv.Value)
		if !ok || s.clock.now().Sub(mark.time) < markerLife {
			continue
		}
		key := string(kv.Key)
		if _, err := s.transact(ctx, func(t clientv3.Txn) clientv3.Txn {
			return t.If(clientv3.Compare(clientv3.ModRevision(key), "=", kv.ModRevision)).Then(clientv3.OpDelete(key))
		}); err != nil {
			return err
		}
	}
	return nil
}

// background runs work until the store is closed.
func (s *Store) background(work func(ctx context.Context)) {
	s.working.Go(func() { work(s.running) })
}
