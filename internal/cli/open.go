package cli

import (
	"context"
	"errors"
	"maps"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsclient"
	"github.com/calldibs/dibs/embedded"
	"github.com/calldibs/dibs/internal/config"
	"github.com/calldibs/dibs/internal/engine"
)

// Target is where the names are: exactly one of Store and Server is set.
type Target struct {
	Store  string // the engine, such as "sqlite:dibs.db"
	Config string // the file with the policies of Store; empty means the defaults

	Server string // the URL of a server
	Key    string // the key for Server, or a token; empty means none

	// PEM files for a Server at https://: the trusted authorities, empty for those of this
	// machine; the client certificate, empty for none; and its key, empty if it is in the same
	// file.
	CA, Cert, CertKey string
}

// Open opens the registry at a target.
func Open(ctx context.Context, target Target) (*dibs.Registry, error) {
	if target.Server != "" {
		return dial(target)
	}
	_, _, registry, err := openStore(ctx, target)
	if err != nil {
		return nil, err
	}
	return registry.As(operator), nil
}

// openStore opens the target's store, with those of the configuration's routes, and the registry
// on it. A command does not change the routes that servers have recorded.
func openStore(ctx context.Context, target Target) (*config.Config, dibs.Store, *dibs.Registry, error) {
	cfg, err := loadConfig(target.Config)
	if err == nil {
		err = engine.Check(target.Store)
	}
	if err != nil {
		return nil, nil, nil, usage("%w", err)
	}
	store, err := engine.OpenLayout(ctx, engine.Layout{Store: target.Store, Routes: cfg.Routes, Keep: true})
	if err != nil {
		return nil, nil, nil, err
	}
	settings := cfg.Dibs()
	settings.SweepEvery = -1 // a command ends before a sweep is due
	registry, err := embedded.Open(store, settings)
	if err != nil {
		return nil, nil, nil, errors.Join(err, store.Close())
	}
	return cfg, store, registry, nil
}

// operator is the principal that opens the database itself. It may use the holds of others, but
// only with their tokens.
var operator = dibs.Principal{Rights: dibs.ActForOthers | dibs.OverrideReserved | dibs.Operate}

// dial opens the registry of a server.
func dial(target Target) (*dibs.Registry, error) {
	trust, err := target.tls()
	if err != nil {
		return nil, usage("%w", err)
	}
	registry, err := dibsclient.Dial(target.Server, dibsclient.Options{Key: target.Key, TLS: trust})
	if err != nil {
		return nil, usage("%w", err)
	}
	return registry, nil
}

// loadConfig reads the policies and routes of the configuration, so that a command applies the
// same rules as a server. An empty path means the defaults. Variables that set the other settings
// of a server are ignored.
func loadConfig(path string) (*config.Config, error) {
	server := map[string]bool{"DIBS_CONFIG": true}
	for _, setting := range config.Settings() {
		server[setting.Env], server[setting.Env+"_FILE"] = true, true
	}
	environ := config.ProcessEnvironment()
	maps.DeleteFunc(environ, func(name, _ string) bool { return server[name] })
	return config.Load(config.Overrides{File: path, Environ: environ})
}
