// Package config reads the configuration of a server from a TOML file, the environment and
// flags. Later sources win.
package config

import (
	"cmp"
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

// Values of Config.Keyless.
const (
	KeylessLocal = "local"
	KeylessNever = "never"
)

// Config is the checked and complete configuration of a server. Make one with [Load], and close
// it when its policies are no longer in use.
type Config struct {
	// Listen is the address to listen on, host:port.
	Listen string
	// Keyless says which requests need no key while neither a key nor another way to sign in
	// exists: KeylessLocal means those from this machine, KeylessNever none.
	Keyless string
	// Store is the address of the store, see package engine. It may contain a password.
	Store string
	// Wait is how long the server waits at its start for a store that does not answer. Zero
	// means not at all.
	Wait time.Duration
	// MaxStale is how stale answers to resolve and check calls may be. Zero means no caching.
	MaxStale time.Duration
	// SweepEvery is the interval of sweeps. Zero means never.
	SweepEvery time.Duration
	// DrainTimeout is how long requests in flight may take at shutdown.
	DrainTimeout time.Duration
	// MaxBody is the maximum size of a request's body.
	MaxBody Size
	// RequestTimeout is how long a request may take.
	RequestTimeout time.Duration
	// ReadHeaderTimeout is how long a client may take to send the headers of a request.
	ReadHeaderTimeout time.Duration
	// IdleTimeout is how long an idle connection is kept open.
	IdleTimeout time.Duration
	// LogLevel is the minimum level of the log.
	LogLevel slog.Level
	// LogFormat is "text" or "json".
	LogFormat string
	// Suggestions is how many free names are offered if a name is taken. Zero means none.
	Suggestions int

	// Routes are the scopes with stores of their own. All other scopes are in Store.
	Routes []engine.Route
	// TLS are the certificate files. Without a certificate the server uses no TLS.
	TLS tlsfiles.Files
	// OIDC are the trusted issuers of tokens.
	OIDC []auth.Issuer
	// Certificates are the accepted holders of client certificates.
	Certificates []auth.CertificateRule
	// CORSOrigins are the sites whose pages may call the API.
	CORSOrigins []string

	// Webhooks configures webhooks.
	Webhooks Webhooks
	// Tracing configures tracing. An empty endpoint turns it off.
	Tracing tracing.Config
	// Limits bound the requests of callers.
	Limits limit.Limits

	// Policies are the policies by namespace or type.
	Policies map[string]dibs.Policy
	// Default is the policy of all other namespaces.
	Default dibs.Policy

	witnesses []io.Closer // of the policies
}

// defaults returns the default configuration.
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
		TLS:               tlsfiles.Files{Clients: tlsfiles.Off},
		Webhooks:          defaultWebhooks(),
		Tracing:           tracing.Config{Sample: 0.01, ServiceName: "dibs"},
		Limits:            limit.Defaults(),
	}
}

// Dibs returns the configuration of the registry, without Logger and Observer.
func (c *Config) Dibs() dibs.Config {
	// In dibs.Config zero means the default, and a negative value none.
	return dibs.Config{
		Policies: c.Policies, Default: c.Default, Suggestions: cmp.Or(c.Suggestions, -1), SweepEvery: cmp.Or(c.SweepEvery, -1),
		// The queue has room for every admitted request.
		QueueSize: max(c.Limits.MaxInFlight, 4096),
	}
}
