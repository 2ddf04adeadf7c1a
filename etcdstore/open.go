package etcdstore

import (
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
	// prefix. Empty means none.
	Username, Password string

	// MaxTxnOps is --max-txn-ops of the members. Zero means that Open finds it out.
	MaxTxnOps int

	// MaxSkew is by how much the clocks of servers may differ before some of them refuse to
	// write. Zero means 500 ms; negative means no check.
	MaxSkew time.Duration

	// Timeout is how long the cluster may take for one call. One member has a third of it. Zero
	// means 3 seconds.
	Timeout time.Duration

	// Writers is how many batches the registry commits at once, unless its own Config says so.
	// Zero means 1: of two concurrent transactions the one with the lower order must be sent
	// again.
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
	if c.Prefix == "" {
		c.Prefix = "dibs/"
	}
	if strings.Contains(c.Prefix, nul) {
		return errors.New("etcdstore: the Prefix contains a NUL: choose another one")
	}
	if c.MaxSkew == 0 {
		c.MaxSkew = 500 * time.Millisecond
	}
	if c.Timeout <= 0 {
		c.Timeout = 3 * time.Second
	}
	if c.publishEvery == 0 {
		c.publishEvery = publishEvery
	}
	if c.Writers <= 0 {
		c.Writers = 1
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
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
		clock: &clock{wall: cfg.Now}, stop: stop, running: running,
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

// start creates the registry if it is missing, and reads what the store must know of it.
func (s *Store) start(ctx context.Context) error {
	if err := s.create(ctx); err != nil {
		return err
	}
	if err := s.findLimits(ctx); err != nil {
		return err
	}
	if err := s.removeOldMarkers(ctx); err != nil {
		return err
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
	var answer *clientv3.TxnResponse
	first := s.clock.next(0)
	err := s.retry(ctx, func(ctx context.Context) (err error) {
		answer, err = s.client.Txn(ctx).
			If(clientv3.Compare(clientv3.CreateRevision(s.keys.prefix).WithRange(prefixEnd(s.keys.prefix)), "=", 0)).
			Then(clientv3.OpPut(s.keys.format(), string(rune('0'+layout))), clientv3.OpPut(s.keys.clock(), first.encode()),
				clientv3.OpPut(s.keys.finalUntil(), string(number(0)))).
			Else(clientv3.OpGet(s.keys.format()), clientv3.OpGet(s.keys.clock())).Commit()
		return err
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
	case string(format[0].Value) != string(rune('0'+layout)):
		return ErrNewerLayout
	}
	if _, err := s.learnStamp(answer.Responses[1].GetResponseRange().Kvs); err != nil {
		return err
	}
	return s.createFinalUntil(ctx)
}

// markerLife is how long a marker is kept that its server did not remove: far longer than a
// commit asks for its outcome.
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
		err := s.retry(ctx, func(ctx context.Context) error {
			_, err := s.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(key), "=", kv.ModRevision)).Then(clientv3.OpDelete(key)).Commit()
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// background runs work until the store is closed.
func (s *Store) background(work func(ctx context.Context)) {
	s.working.Go(func() { work(s.running) })
}
