package cli

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"

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
	config, err := readConfig(target.Config)
	if err != nil {
		return nil, err
	}
	store, err := openStore(ctx, target.Store)
	if err != nil {
		return nil, err
	}
	registry, err := dibs.Open(store, config)
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

// readConfig reads the policies, as a server does: names mean the same to both. No path
// means the defaults.
func readConfig(path string) (dibs.Config, error) {
	cfg, err := loadConfig(path)
	if err != nil {
		return dibs.Config{}, usage("%w", err)
	}
	config := cfg.Dibs()
	config.SweepEvery = 0 // a command is over before it would be time
	return config, nil
}

// loadConfig reads the configuration for its policies. Where the names are is said by the
// target, and what else a server needs does not matter: variables for that are left out.
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

func openStore(ctx context.Context, address string) (dibs.Store, error) {
	if err := engine.Check(address); err != nil {
		return nil, usage("%w", err)
	}
	return engine.Open(ctx, address)
}

// errNoTarget says how to say where the names are.
var errNoTarget = errors.New("where are the names? say --store sqlite:dibs.db, or --server http://127.0.0.1:8080 " +
	"(or set DIBS_STORE or DIBS_SERVER)")
