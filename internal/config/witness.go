package config

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/engine"
	"github.com/calldibs/dibs/witness"
)

const (
	minWitnessTimeout = 100 * time.Millisecond
	maxWitnessTimeout = 30 * time.Second // the registry waits no longer for a witness
)

// Close closes the witnesses. The policies of this configuration must no longer be in use: a
// closed witness answers unknown.
func (c *Config) Close() error {
	var err error
	for _, w := range c.witnesses {
		err = errors.Join(err, w.Close())
	}
	return err
}

// readWitnesses makes the witnesses of the file. None of them connects yet.
func (l *loader) readWitnesses(environ map[string]string) {
	l.witnesses = make(map[string]dibs.Witness)
	all := l.root.table("witnesses")
	for _, name := range slices.Sorted(maps.Keys(all.values)) {
		s := all.table(name)
		if s.values == nil {
			continue
		}
		l.witnesses[name] = nil
		var w asker
		before := len(l.problems)
		switch asksService, asksDatabase := s.has("url"), s.has("query"); {
		case asksService == asksDatabase:
			s.report("", "must have either url, for a service, or query, for a database")
		case asksService:
			w = s.service(environ)
		default:
			w = s.query(environ)
		}
		if len(l.problems) == before {
			l.witnesses[name] = w.Ask
			l.config.witnesses = append(l.config.witnesses, w)
		}
	}
}

// asker is a witness of either kind.
type asker interface {
	io.Closer
	Ask(context.Context, dibs.SuspectHold) (dibs.Verdict, error)
}

// witness returns the witness of a policy.
func (l *loader) witness(d policySettings) dibs.Witness {
	if d.witness == "" {
		return nil
	}
	w, known := l.witnesses[d.witness]
	switch {
	case known:
	case len(l.witnesses) == 0:
		l.report(d.at("witness"), "unknown witness %q: add a table %s", d.witness, "["+join("witnesses", d.witness)+"]")
	default:
		l.report(d.at("witness"), "unknown witness %q: use %s", d.witness, strings.Join(slices.Sorted(maps.Keys(l.witnesses)), ", "))
	}
	return w
}

// service makes a witness that asks a service.
func (s *section) service(environ map[string]string) *witness.HTTP {
	cfg := witness.HTTPConfig{Header: make(http.Header)}
	s.text("url", &cfg.URL)
	if secret, _, ok := s.secret("secret", environ); ok && secret != "" {
		if !isHeaderValue(secret) {
			s.report("secret", "must be one line of visible ASCII characters")
		}
		cfg.Header.Set("Authorization", "Bearer "+secret)
	}
	s.headers("headers", cfg.Header)
	cfg.TLS = s.authorities("caFile")
	s.within("timeout", minWitnessTimeout, maxWitnessTimeout, &cfg.Timeout)
	s.count("atOnce", 1, 64, &cfg.AtOnce)
	s.finish()
	w, err := witness.NewHTTP(cfg)
	if err != nil {
		s.report("url", "%v", err)
	}
	return w
}

// query makes a witness that asks a database.
func (s *section) query(environ map[string]string) *witness.SQL {
	cfg := witness.SQLConfig{Dialect: witness.PostgreSQL}
	s.text("query", &cfg.Query)
	address, _, ok := s.secret("database", environ)
	switch err := engine.CheckDatabase(address); {
	case !ok:
	case address == "":
		s.report("", "needs a database, such as sqlite:orders.db or postgres://user@host/database")
	case err != nil:
		s.report("database", "%v", err)
	}
	if strings.HasPrefix(address, "sqlite:") {
		cfg.Dialect = witness.SQLite
	}
	cfg.Open = func() (*sql.DB, error) { return engine.OpenDatabase(address) }
	s.positiveOr("absentAfter", "never", &cfg.AbsentAfter)
	s.within("timeout", minWitnessTimeout, maxWitnessTimeout, &cfg.Timeout)
	s.finish()
	w, err := witness.NewSQL(cfg)
	if err != nil {
		s.report("query", "%v", err)
	}
	return w
}

// headers reads a table of HTTP headers.
func (s *section) headers(key string, into http.Header) {
	table := s.table(key)
	for _, name := range slices.Sorted(maps.Keys(table.values)) {
		var value string
		switch {
		case !table.text(name, &value):
		case !isHeaderName(name) || !isHeaderValue(value):
			table.report(name, "invalid header: names have letters, digits and hyphens, values have visible ASCII characters")
		case into.Get(name) != "":
			table.report(name, "is set twice: secret is sent as Authorization")
		default:
			into.Set(name, value)
		}
	}
}

func isHeaderName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool { return r != '-' && notBare(byte(min(r, 255))) })
}

func isHeaderValue(value string) bool {
	return !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' })
}

// authorities reads a file with trusted certificates. Nil means those of the system.
func (s *section) authorities(key string) *tls.Config {
	var path string
	if !s.filePath(key, &path) {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		s.report(key, "cannot be read: %v", cause(err))
		return nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		s.report(key, "contains no certificate: it must be PEM")
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}
