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

// Config says where the cluster is, and how it is used. Only Endpoints are needed.
type Config struct {
	// Endpoints are the addresses of the members, as host:port or as URLs. Name all of
	// them: requests go round, and past those that do not answer.
	Endpoints []string

	// Prefix is what all keys begin with. Empty means "dibs/". Registries with different
	// prefixes know nothing of each other; none may begin with another's.
	Prefix string

	// TLS is how connections are secured. Nil means not at all.
	TLS *tls.Config

	// Username and Password are those of a user of etcd who may read and write under the
	// prefix. Empty means none.
	Username, Password string

	// MaxTxnOps is --max-txn-ops of the members. Zero means that Open finds it out.
	MaxTxnOps int

	// MaxSkew is by how much the clocks of servers may differ before some of them refuse to
	// write. Zero means 500 ms; negative means that nobody looks.
	MaxSkew time.Duration

	// Timeout is how long the cluster may take for one call. Each member that is asked has
	// a third of it. Zero means 3 seconds.
	Timeout time.Duration

	// Writers is how many batches are under way at once, unless the registry's own Config
	// says so. Zero means 1: transactions of one server that overtake each other lose their
	// place in the order, and have to be sent again.
	Writers int

	// Logger is told of clocks that are off. Nil means [slog.Default].
	Logger *slog.Logger

	// Now is for tests: it stands in for this machine's clock. Nil means [time.Now].
	Now func() time.Time

	// For tests alone.
	intercept     grpc.UnaryClientInterceptor // stands between the client and the cluster
	tellTimeEvery time.Duration
}

func (c *Config) setDefaults() error {
	if len(c.Endpoints) == 0 {
		return errors.New("etcdstore: there are no Endpoints: name the members of the cluster, as host:port")
	}
	if c.Prefix == "" {
		c.Prefix = "dibs/"
	}
	if strings.Contains(c.Prefix, nul) {
		return errors.New("etcdstore: the Prefix has a NUL in it")
	}
	if c.MaxSkew == 0 {
		c.MaxSkew = 500 * time.Millisecond
	}
	if c.Timeout <= 0 {
		c.Timeout = 3 * time.Second
	}
	if c.tellTimeEvery == 0 {
		c.tellTimeEvery = tellTimeEvery
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

// How connections are watched: gRPC does not look more often.
const (
	keepAlive   = 10 * time.Second
	maxSendSize = 64 << 20 // the servers have a limit of their own, and say so
)

// Open opens the registry under a prefix, and creates it when it is missing. Errors match
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
		Logger: zap.NewNop(), // it would write to standard error; what matters comes as an error
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
		newcomer: make(chan struct{}, 1), others: make(map[string]otherClock),
	}
	if err := s.start(ctx); err != nil {
		stop()
		s.working.Wait()
		_ = client.Close()
		if causeOf(err) != "" {
			err = unavailable(err) // so that a program can wait for the cluster
		}
		return nil, fmt.Errorf("etcdstore: %w", err)
	}
	return s, nil
}

// serverSize is how many characters a server's id has.
const serverSize = 10

// start makes sure that there is a registry, and gets to know it.
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
	if err := s.meetServers(ctx); err != nil {
		return err
	}
	if err := s.checkClock(); err != nil {
		// It may be put right: writes are refused until then.
		s.cfg.Logger.ErrorContext(ctx, err.Error())
	}
	return nil
}

// create puts a registry under an empty prefix, and checks one that is there.
func (s *Store) create(ctx context.Context) error {
	var answer *clientv3.TxnResponse
	first := s.clock.next(0)
	err := s.ask(ctx, func(ctx context.Context) (err error) {
		answer, err = s.client.Txn(ctx).
			If(clientv3.Compare(clientv3.CreateRevision(s.keys.prefix).WithRange(behind(s.keys.prefix)), "=", 0)).
			Then(clientv3.OpPut(s.keys.format(), string(rune('0'+layout))), clientv3.OpPut(s.keys.clock(), first.encode()),
				clientv3.OpPut(s.keys.over(), string(number(0)))).
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
	if err := s.learnFrom(answer.Responses[1].GetResponseRange().Kvs); err != nil {
		return err
	}
	return s.createOver(ctx)
}

// markerLife is how long a marker is kept of a server that did not remove it. Whoever looks
// for one gives up long before.
const markerLife = 24 * time.Hour

// removeOldMarkers removes what servers that were killed have left.
func (s *Store) removeOldMarkers(ctx context.Context) error {
	kvs, _, _, err := s.scan(ctx, s.keys.markers(), behind(s.keys.markers()), 1000)
	if err != nil {
		return err
	}
	for _, kv := range kvs {
		mark, ok := decodeStamp(kv.Value)
		if !ok || s.clock.now().Sub(mark.time) < markerLife {
			continue
		}
		key := string(kv.Key)
		err := s.ask(ctx, func(ctx context.Context) error {
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
