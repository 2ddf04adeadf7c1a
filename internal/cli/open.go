package cli

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/calldibs/dibs/embedded"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsclient"
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
	cfg, err := loadConfig(target.Config)
	if err != nil {
		return nil, usage("%w", err)
	}
	store, err := openLayout(ctx, target, cfg)
	if err != nil {
		return nil, err
	}
	config := cfg.Dibs()
	config.SweepEvery = -1 // a command ends before a sweep is due
	registry, err := embedded.Open(store, config)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return registry.As(operator), nil
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

// loadConfig reads the policies and routes of the configuration, so that names mean the same as
// on a server. An empty path means the defaults. The store is that of the target, so variables
// for the other settings of a server are ignored.
func loadConfig(path string) (*config.Config, error) {
	server := map[string]bool{"DIBS_CONFIG": true}
	for _, setting := range config.Settings() {
		server[setting.Env], server[setting.Env+"_FILE"] = true, true
	}
	environ := make(map[string]string)
	for _, entry := range os.Environ() {
		if name, value, _ := strings.Cut(entry, "="); !server[name] {
			environ[name] = value
		}
	}
	return config.Load(config.Overrides{File: path, Environ: environ})
}

// namespacesOf returns the namespaces in the target's configuration, for completion.
func namespacesOf(target Target) []string {
	cfg, err := loadConfig(target.Config)
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(cfg.Policies))
}

// openLayout opens the target's store and those of the configuration's routes. A command does not
// change the routes that servers have recorded.
func openLayout(ctx context.Context, target Target, cfg *config.Config) (dibs.Store, error) {
	if err := engine.Check(target.Store); err != nil {
		return nil, usage("%w", err)
	}
	return engine.OpenLayout(ctx, engine.Layout{Store: target.Store, Routes: cfg.Routes, Keep: true})
}

// errNoTarget tells how to set the target.
var errNoTarget = errors.New("no store or server: use --store sqlite:dibs.db, or --server http://127.0.0.1:8080 " +
	"(or set DIBS_STORE or DIBS_SERVER)")
