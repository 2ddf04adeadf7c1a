package etcdstore

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

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
	files := tlsFiles{ca: values.Get("cacert"), cert: values.Get("cert"), key: values.Get("key")}
	for name := range values {
		value := values.Get(name)
		var err error
		switch name {
		case "cacert", "cert", "key":
		case "tls":
			files.wanted, err = strconv.ParseBool(value)
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
	c.TLS, err = files.load()
	return err
}

// tlsFiles are PEM files.
type tlsFiles struct {
	ca, cert, key string
	wanted        bool // also without files
}

func (f tlsFiles) load() (*tls.Config, error) {
	if f == (tlsFiles{}) {
		return nil, nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.ca != "" {
		pem, err := os.ReadFile(f.ca)
		if err != nil {
			return nil, fmt.Errorf("cacert: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("cacert: %s contains no PEM certificate", f.ca)
		}
	}
	if (f.cert == "") != (f.key == "") {
		return nil, errors.New("cert and key in the store's address belong together: give both files")
	}
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return nil, fmt.Errorf("cert and key: %w", err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}
