package config

import (
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
	maxWitnessTimeout = 30 * time.Second // for longer no witness is waited for
)

// witnesses are those that the file has, by name. One that is wrong, which was reported, is nil.
type witnesses map[string]dibs.Witness

// Close ends what the witnesses have opened. Policies of this configuration must not be in use
// any more: a witness that is asked nevertheless does not know.
func (c *Config) Close() error {
	var err error
	for _, w := range c.witnesses {
		err = errors.Join(err, w.Close())
	}
	return err
}

// readWitnesses makes the witnesses of the file. None of them opens anything yet.
func (l *loader) readWitnesses(environ map[string]string) {
	if l.file == nil || l.file.witnesses == nil {
		return
	}
	l.witnesses = make(witnesses)
	all := l.file.witnesses
	for _, name := range slices.Sorted(maps.Keys(all.values)) {
		s := all.table(name)
		if s == nil {
			continue
		}
		switch asksService, asksDatabase := s.has("url"), s.has("query"); {
		case asksService == asksDatabase:
			s.report("", "must have either url, to ask a service, or query, to ask a database")
			l.witnesses[name] = nil
		case asksService:
			l.readService(name, s, environ)
		default:
			l.readQuery(name, s, environ)
		}
	}
}

// witness returns the one that a policy names.
func (l *loader) witness(d draft) dibs.Witness {
	if d.witness == "" {
		return nil
	}
	w, known := l.witnesses[d.witness]
	switch {
	case known:
	case len(l.witnesses) == 0:
		l.report(d.at("witness"), "there is no witness %q: add a table %s", d.witness, "["+join("witnesses", d.witness)+"]")
	default:
		l.report(d.at("witness"), "there is no witness %q: there are %s", d.witness, strings.Join(slices.Sorted(maps.Keys(l.witnesses)), ", "))
	}
	return w
}

// readService makes a witness that asks a service.
func (l *loader) readService(name string, s *section, environ map[string]string) {
	cfg := witness.HTTPConfig{Header: make(http.Header)}
	before := len(l.problems)
	s.text("url", &cfg.URL)
	if secret, ok := s.secret("secret", environ); ok && secret != "" {
		if !isHeaderValue(secret) {
			s.report("secret", "must be visible characters, in one line")
		}
		cfg.Header.Set("Authorization", "Bearer "+secret)
	}
	s.headers("headers", cfg.Header)
	cfg.TLS = s.authorities("caFile")
	s.witnessTimeout(&cfg.Timeout)
	s.count("atOnce", 1, 64, &cfg.AtOnce)
	s.finish()
	w, err := witness.NewHTTP(cfg)
	if err != nil {
		s.report("url", "%v", err)
	}
	if l.witnesses[name] = nil; len(l.problems) == before {
		l.addWitness(name, w.Ask, w)
	}
}

// readQuery makes a witness that asks a database.
func (l *loader) readQuery(name string, s *section, environ map[string]string) {
	cfg := witness.SQLConfig{Dialect: witness.PostgreSQL}
	before := len(l.problems)
	s.text("query", &cfg.Query)
	address, ok := s.secret("database", environ)
	switch err := engine.CheckDatabase(address); {
	case !ok:
	case address == "":
		s.report("", "must have a database to ask: sqlite:orders.db or postgres://user@host/database")
	case err != nil:
		s.report("database", "%v", err)
	}
	if strings.HasPrefix(address, "sqlite:") {
		cfg.Dialect = witness.SQLite
	}
	cfg.Open = func() (*sql.DB, error) { return engine.OpenDatabase(address) }
	s.absentAfter("absentAfter", &cfg.AbsentAfter)
	s.witnessTimeout(&cfg.Timeout)
	s.finish()
	w, err := witness.NewSQL(cfg)
	if err != nil {
		s.report("query", "%v", err)
	}
	if l.witnesses[name] = nil; len(l.problems) == before {
		l.addWitness(name, w.Ask, w)
	}
}

func (l *loader) addWitness(name string, ask dibs.Witness, closer io.Closer) {
	l.witnesses[name] = ask
	l.config.witnesses = append(l.config.witnesses, closer)
}

// witnessTimeout takes how long a question may take.
func (s *section) witnessTimeout(into *time.Duration) {
	s.span("timeout", minWitnessTimeout, into)
	if *into > maxWitnessTimeout {
		s.report("timeout", "is %s, it must be at most %s", formatDuration(*into), formatDuration(maxWitnessTimeout))
	}
}

// never is how a duration that does not end is written; a witness has zero for it.
const never = "never"

// absentAfter takes a duration, or "never".
func (s *section) absentAfter(key string, into *time.Duration) {
	if s.values[key] == never {
		s.known = append(s.known, key)
		return
	}
	if text, ok := s.values[key].(string); ok {
		if d, err := parseDuration(text); err == nil && d <= 0 {
			s.known = append(s.known, key)
			s.report(key, "is %s, it must be at least 1ms, or %q", formatDuration(d), never)
			return
		}
	}
	s.span(key, time.Millisecond, into)
}

// headers takes the headers of a table.
func (s *section) headers(key string, into http.Header) {
	table := s.table(key)
	if table == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(table.values)) {
		var value string
		switch {
		case !table.text(name, &value):
		case !isHeaderName(name) || !isHeaderValue(value):
			table.report(name, "is no header: names are letters, digits and hyphens, values are visible characters")
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

// authorities takes the path of a file with the certificates by which a service is known. Nil
// means those of the system.
func (s *section) authorities(key string) *tls.Config {
	var path string
	if !s.text(key, &path) {
		return nil
	}
	text, err := os.ReadFile(s.loader.file.beside(path))
	if err != nil {
		s.report(key, "cannot be read: %v", cause(err))
		return nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		s.report(key, "has no certificate in it: it must be in PEM")
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}
