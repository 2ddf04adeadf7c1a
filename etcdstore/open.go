package etcdstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

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
	s.skew = &skew{self: s.server, most: cfg.MaxSkew, joined: make(chan struct{}, 1), others: make(map[string]otherClock)}
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
				clientv3.OpPut(s.keys.finalUntil(), number(0))).
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
	return s.learnStamp(answer.Responses[1])
}

// markerLife is how long a marker stays that its server did not remove. A commit reads its
// marker much sooner.
const markerLife = 24 * time.Hour

// removeOldMarkers removes the markers of servers that were killed.
func (s *Store) removeOldMarkers(ctx context.Context) error {
	found, _, err := s.scan(ctx, s.keys.markers(), prefixEnd(s.keys.markers()), 1000)
	if err != nil {
		return err
	}
	for _, kv := range found.Kvs {
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

const (
	minOps    = 16   // a single reservation must fit
	enoughOps = 8192 // more would not help
)

var errFewOps = errors.New("the etcd servers allow less than 16 operations in a transaction: raise --max-txn-ops on all members, for example to 2048")

// findMaxOps finds out how many operations the servers allow, by transactions that change
// nothing: etcd has no request for this limit.
func (s *Store) findMaxOps(ctx context.Context) error {
	if s.cfg.MaxTxnOps > 0 {
		s.maxOps = s.cfg.MaxTxnOps
		if s.maxOps < minOps {
			return errFewOps
		}
		return nil
	}
	s.maxOps = minOps
	for ops := 128; ops <= enoughOps; ops *= 2 { // 128 is etcd's own default
		if ok, err := s.allows(ctx, ops); err != nil || !ok {
			return err
		}
		s.maxOps = ops
	}
	return nil
}

// allows reports whether the servers allow a number of operations.
func (s *Store) allows(ctx context.Context, ops int) (bool, error) {
	compares := slices.Repeat([]clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(s.keys.clock()), ">", 0)}, ops)
	_, err := s.transact(ctx, func(t clientv3.Txn) clientv3.Txn { return t.If(compares...).Then(clientv3.OpGet(s.keys.clock())) })
	if errors.Is(err, rpctypes.ErrTooManyOps) {
		return false, nil
	}
	return err == nil, err
}
