package etcdstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
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
	joinWait     time.Duration
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
	c.joinWait = cmp.Or(c.joinWait, joinWait)
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
	scheme      = "etcd://"
	defaultPort = "2379"
)

// ParseDSN reads a Config from one line:
//
//	etcd://user:password@host1:2379,host2:2379,host3:2379/prefix?cacert=ca.pem&cert=me.pem&key=me.key
//
// Everything except the hosts may be left out. ParseDSN adds a slash to the prefix if it does not
// end with one.
// The settings are cacert, cert and key (PEM files; any of them turns TLS on), tls=true (TLS
// with the system's authorities), max_txn_ops, max_skew and timeout. No error contains a
// password.
func ParseDSN(dsn string) (Config, error) {
	var cfg Config
	rest, ok := strings.CutPrefix(dsn, scheme)
	if !ok {
		return cfg, errors.New("the address of an etcd cluster begins with etcd://, as in etcd://host1:2379,host2:2379/prefix")
	}
	rest, query, _ := strings.Cut(rest, "?")
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		if err := cfg.setLogin(rest[:at]); err != nil {
			return Config{}, err
		}
		rest = rest[at+1:]
	}
	hosts, prefix, _ := strings.Cut(rest, "/")
	if err := cfg.setHosts(hosts); err != nil {
		return Config{}, err
	}
	if prefix = strings.TrimSuffix(prefix, "/"); prefix != "" {
		plain, err := url.PathUnescape(prefix)
		if err != nil {
			return Config{}, errors.New("the prefix in the store's address is malformed: write % as %25")
		}
		cfg.Prefix = plain + "/"
	}
	if err := cfg.setOptions(query); err != nil {
		return Config{}, err
	}
	return cfg, nil
}

func (c *Config) setLogin(login string) error {
	user, password, _ := strings.Cut(login, ":")
	var wrong [2]error
	c.Username, wrong[0] = url.PathUnescape(user)
	c.Password, wrong[1] = url.PathUnescape(password)
	if errors.Join(wrong[:]...) != nil || strings.ContainsAny(login, "/@# ") || user == "" {
		return errors.New("user and password in the store's address must not contain special characters: write @ as %40, / as %2F, # as %23, ? as %3F, % as %25")
	}
	return nil
}

func (c *Config) setHosts(hosts string) error {
	for host := range strings.SplitSeq(hosts, ",") {
		if !strings.Contains(host, ":") || strings.HasSuffix(host, "]") {
			host += ":" + defaultPort
		}
		name, port, err := net.SplitHostPort(host)
		if _, portErr := strconv.ParseUint(port, 10, 16); err != nil || portErr != nil || name == "" {
			return errors.New("the hosts in the store's address are malformed: write host1:2379,host2:2379")
		}
		c.Endpoints = append(c.Endpoints, net.JoinHostPort(name, port))
	}
	return nil
}

func (c *Config) setOptions(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("the settings after the ? in the store's address are malformed: write name=value&name=value, and % as %25")
	}
	ca, cert, key := values.Get("cacert"), values.Get("cert"), values.Get("key")
	useTLS := ca != "" || cert != "" || key != ""
	for name := range values {
		value := values.Get(name)
		var err error
		switch name {
		case "cacert", "cert", "key":
		case "tls":
			var wanted bool
			wanted, err = strconv.ParseBool(value)
			useTLS = useTLS || wanted
		case "max_txn_ops":
			c.MaxTxnOps, err = strconv.Atoi(value)
		case "max_skew":
			c.MaxSkew, err = time.ParseDuration(value)
		case "timeout":
			c.Timeout, err = time.ParseDuration(value)
		default: // its name is not shown: it may be a part of a password
			return errors.New("unknown setting in the store's address: etcd:// has cacert, cert, key, tls, max_txn_ops, max_skew and timeout; write ? in a password as %3F")
		}
		if err != nil {
			return fmt.Errorf("%s in the store's address has an invalid value", name)
		}
	}
	if useTLS {
		c.TLS, err = loadTLS(ca, cert, key)
	}
	return err
}

// loadTLS reads PEM files. Each may be missing.
func loadTLS(ca, cert, key string) (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("cacert: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("cacert: %s contains no PEM certificate", ca)
		}
	}
	if (cert == "") != (key == "") {
		return nil, errors.New("cert and key in the store's address belong together: give both files")
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("cert and key: %w", err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}

const (
	keepAlive   = 10 * time.Second // gRPC does not allow less
	maxSendSize = 64 << 20         // the servers have a lower limit, and report it
)

// Open opens the registry under a prefix, and creates it if it is missing. Errors match
// [ErrNewerLayout], [ErrOlderLayout] or [ErrForeignKeys], or say what is wrong with the cluster.
// Open changes no data that it refuses.
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
		cfg: cfg, client: client, kv: clientv3.RetryKVClient(client), keys: keys{cfg.Prefix}, server: rand.Text()[:serverSize],
		clock: &clock{wall: cfg.Now}, footprints: newFootprints(), stop: stop, running: running,
	}
	s.fence = newFence(s.keys)
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
	case string(format[0].Value) < version:
		return ErrOlderLayout
	case string(format[0].Value) > version:
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
	exists := clientv3.Compare(clientv3.CreateRevision(s.keys.clock()), ">", 0)
	for ops := 128; ops <= enoughOps; ops *= 2 { // 128 is etcd's own default
		_, err := s.transact(ctx, func(t clientv3.Txn) clientv3.Txn {
			return t.If(slices.Repeat([]clientv3.Cmp{exists}, ops)...).Then(clientv3.OpGet(s.keys.clock()))
		})
		switch {
		case errors.Is(err, rpctypes.ErrTooManyOps):
			return nil
		case err != nil:
			return err
		}
		s.maxOps = ops
	}
	return nil
}
