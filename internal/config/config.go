// Package config reads the configuration of a server: a TOML file, the environment and
// flags, in this order; what comes later wins.
package config

import (
	"io"
	"log/slog"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/internal/engine"
	"github.com/calldibs/dibs/internal/limit"
	"github.com/calldibs/dibs/internal/tlsfiles"
	"github.com/calldibs/dibs/internal/tracing"
)

// Who may call while there is no way to sign in.
const (
	KeylessLocal = "local"
	KeylessNever = "never"
)

// Config is the configuration of a server, checked and complete. Make one with [Load], and
// close it when its policies are no longer in use.
type Config struct {
	// Listen is the address to listen on, host:port.
	Listen string `env:"LISTEN"`
	// Keyless says who may call while there is no way to sign in: "local", this machine, or
	// "never", nobody.
	Keyless string `env:"KEYLESS"`
	// Store is the address of the store, see package engine. It may have a password in it.
	Store string `env:"STORE"`
	// Wait is how long a store that does not answer is waited for at the start. Zero means
	// not at all.
	Wait time.Duration `env:"WAIT"`
	// MaxStale is how long others may keep what a resolve call answered. Zero means not
	// at all.
	MaxStale time.Duration `env:"MAX_STALE"`
	// SweepEvery is how often what is over is tidied up. Zero means never.
	SweepEvery time.Duration `env:"SWEEP_EVERY"`
	// DrainTimeout is how long requests under way may take when the server ends.
	DrainTimeout time.Duration `env:"DRAIN_TIMEOUT"`
	// MaxBody is how many bytes the body of a request may have.
	MaxBody Size `env:"MAX_BODY"`
	// RequestTimeout is how long one request may take.
	RequestTimeout time.Duration `env:"REQUEST_TIMEOUT"`
	// ReadHeaderTimeout is how long a client may take to send the headers of a request.
	ReadHeaderTimeout time.Duration `env:"READ_HEADER_TIMEOUT"`
	// IdleTimeout is how long a connection without requests is kept open.
	IdleTimeout time.Duration `env:"IDLE_TIMEOUT"`
	// LogLevel is the least level that is logged.
	LogLevel slog.Level `env:"LOG_LEVEL"`
	// LogFormat is "text" or "json".
	LogFormat string `env:"LOG_FORMAT"`
	// Suggestions is how many free names are offered where one is taken. Zero means none.
	Suggestions int `env:"SUGGESTIONS"`

	// Routes send scopes to stores of their own. All others are in Store.
	Routes []engine.Route `env:"-"`
	// TLS says where the certificates are. The zero value means no TLS.
	TLS tlsfiles.Files `env:"-"`
	// OIDC are the issuers whose tokens count.
	OIDC []auth.Issuer `env:"-"`
	// Certificates are the holders of client certificates that count.
	Certificates []auth.CertificateRule `env:"-"`
	// CORSOrigins are the sites whose pages may call the API.
	CORSOrigins []string `env:"-"`

	// Webhooks is how events are sent to others.
	Webhooks Webhooks `env:"-"`
	// Tracing says where traces go. Without an endpoint there are none.
	Tracing tracing.Config `env:"-"`
	// Limits bound what callers can ask for.
	Limits limit.Limits `env:"-"`

	// Policies are what namespaces allow, by namespace or type.
	Policies map[string]dibs.Policy `env:"-"`
	// Default is the policy of all other namespaces.
	Default dibs.Policy `env:"-"`

	witnesses []io.Closer // those that the policies ask
}

// defaults returns the configuration of a server that is told nothing.
func defaults() Config {
	return Config{
		Listen:            "127.0.0.1:8080",
		Keyless:           KeylessLocal,
		Store:             "sqlite:dibs.db",
		Wait:              time.Minute,
		SweepEvery:        10 * time.Second,
		DrainTimeout:      20 * time.Second,
		MaxBody:           1 << 20,
		RequestTimeout:    15 * time.Second,
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       2 * time.Minute,
		LogLevel:          slog.LevelInfo,
		LogFormat:         "text",
		Suggestions:       3,
		Webhooks:          defaultWebhooks(),
		Tracing:           tracing.Config{Sample: 0.01, ServiceName: "dibs"},
		Limits:            limit.Defaults(),
	}
}

// Layout returns where names are.
func (c *Config) Layout() engine.Layout {
	return engine.Layout{Store: c.Store, Routes: c.Routes}
}

// Dibs returns what [dibs.Open] needs of the configuration. Logger and Observer are left
// to the caller.
func (c *Config) Dibs() dibs.Config {
	suggestions := c.Suggestions
	if suggestions == 0 {
		suggestions = -1 // there zero means the default
	}
	return dibs.Config{
		Policies: c.Policies, Default: c.Default, Suggestions: suggestions, SweepEvery: c.SweepEvery,
		// Who is let in finds room in the queue: nobody waits there unseen. Zero means the default.
		QueueSize: roomFor(c.Limits.MaxInFlight),
	}
}

// roomFor returns the size of a queue in which so many find room, or zero where it is large
// enough by itself.
func roomFor(requests int) int {
	const enough = 4096
	if requests <= enough {
		return 0
	}
	return requests
}
