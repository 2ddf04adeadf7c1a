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

// Target says where the names are: exactly one of Store and Server is set.
type Target struct {
	Store  string // the engine, such as "sqlite:dibs.db"
	Config string // the file with the policies of Store; empty means the defaults

	Server string // the URL of a server
	Key    string // the key for Server, or a token; empty means none

	// Files in PEM, for a Server at https://: the authorities to trust, where empty means
	// those of this machine; the client certificate to show, where empty means none; and
	// its key, where empty means that it is in the same file.
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
	config.SweepEvery = 0 // a command is over before it would be time
	registry, err := embedded.Open(store, config)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return registry.As(operator), nil
}

// operator is whoever opens the database itself. It may use the holds of others, but
// not without their tokens.
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

// loadConfig reads the configuration for its policies, as a server does, so that names
// mean the same to both, and for its routes. No path means the defaults. Where all other
// names are is said by the target, and what else a server needs does not matter: variables
// for that are left out.
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

// namespacesOf returns the namespaces that the target's configuration names, for
// completion.
func namespacesOf(target Target) []string {
	cfg, err := loadConfig(target.Config)
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(cfg.Policies))
}

// openLayout opens the target's store, and those of the configuration's routes beside it.
// Routes that servers have on record are not changed by a command.
func openLayout(ctx context.Context, target Target, cfg *config.Config) (dibs.Store, error) {
	if err := engine.Check(target.Store); err != nil {
		return nil, usage("%w", err)
	}
	return engine.OpenLayout(ctx, engine.Layout{Store: target.Store, Routes: cfg.Routes, Keep: true})
}

// errNoTarget says how to say where the names are.
var errNoTarget = errors.New("where are the names? say --store sqlite:dibs.db, or --server http://127.0.0.1:8080 " +
	"(or set DIBS_STORE or DIBS_SERVER)")
