package etcdstore

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

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
