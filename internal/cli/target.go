package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

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
	Create bool   // create a Store that is not there
	// NewRules applies the checks that policies have by default also to namespaces of Store whose
	// names were made without them: the command changes the rules.
	NewRules bool
	// Damaged opens also a damaged file, but only to look at it.
	Damaged bool

	Server string // the URL of a server
	Key    string // the key for Server, or a token; empty means none

	// PEM files for a Server at https://: the trusted authorities, empty for those of this
	// machine; the client certificate, empty for none; and its key, empty if it is in the same
	// file.
	CA, Cert, CertKey string
}

// targetFlags are the flags that set the target.
type targetFlags struct {
	store, config, server, key string
	ca, cert, certKey          string // for the server; files
	newRules                   bool   // of the target, set by a command
}

func (f *targetFlags) add(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.StringVar(&f.store, "store", "", "open this `engine`: sqlite:dibs.db (or DIBS_STORE)")
	flags.StringVar(&f.config, "config", "", "the `file` with the policies of --store (or DIBS_CONFIG)")
	flags.StringVar(&f.server, "server", "", "call the server at this `url` (or DIBS_SERVER)")
	flags.StringVar(&f.key, "key", "", "the `key` for the server; other users may see a flag: better set DIBS_KEY or DIBS_KEY_FILE")
	flags.StringVar(&f.ca, "ca", "", "trust the authorities in this `pem` file (or DIBS_CA)")
	flags.StringVar(&f.cert, "cert", "", "use the client certificate in this `pem` file (or DIBS_CERT)")
	flags.StringVar(&f.certKey, "cert-key", "", "the `pem` file with the key of --cert, if it is not in the same file (or DIBS_CERT_KEY)")
}

// target returns the target. Flags win over the environment.
func (s *session) target() (Target, error) {
	s.warnOfVariables()
	f := s.flags
	if f.store == "" && f.server == "" {
		var err error
		if f.store, err = s.secret("DIBS_STORE"); err != nil {
			return Target{}, err
		}
		f.server = s.Getenv("DIBS_SERVER")
		if f.store != "" && f.server != "" {
			return Target{}, usage("DIBS_STORE and DIBS_SERVER are both set: unset one of them, or use --store or --server")
		}
	}
	switch {
	case f.store != "" && f.server != "":
		return Target{}, usage("--store and --server exclude each other: use one of them")
	case f.store != "":
		return Target{Store: f.store, Config: cmp.Or(f.config, s.Getenv("DIBS_CONFIG")), Create: s.creates(), NewRules: f.newRules}, nil
	case f.server != "":
		if f.config != "" {
			return Target{}, usage("--config is only for --store: a server has its own policies")
		}
		var err error
		if f.key == "" {
			f.key, err = s.secret("DIBS_KEY")
		}
		return Target{
			Server: f.server, Key: f.key, CA: cmp.Or(f.ca, s.Getenv("DIBS_CA")),
			Cert: cmp.Or(f.cert, s.Getenv("DIBS_CERT")), CertKey: cmp.Or(f.certKey, s.Getenv("DIBS_CERT_KEY")),
		}, err
	default:
		return Target{}, usage("no store or server: use --store sqlite:dibs.db, or --server http://127.0.0.1:8080 " +
			"(or set DIBS_STORE or DIBS_SERVER)")
	}
}

// creating are the commands that begin a registry: all others need one that is there, and a
// misspelt path must not make an empty one.
var creating = []string{"reserve", "reserve-first", "claim", "rename", "apply", "import", "load", "keys create", "webhook add", "bench", "bench load"}

func (s *session) creates() bool {
	if s.running == nil {
		return false
	}
	return slices.Contains(creating, strings.TrimPrefix(s.running.CommandPath(), "dibs "))
}

// mustExist refuses a store that is not there, unless the command may create it.
func (t Target) mustExist(ctx context.Context, addresses ...string) error {
	if t.Create {
		return nil
	}
	for _, address := range addresses {
		if err := engine.MustExist(ctx, address); err != nil {
			return err
		}
	}
	return nil
}

// warnOfVariables tells of variables that nothing reads. They are no error, since the command may not
// need what they were meant to be.
func (s *session) warnOfVariables() {
	environ := s.Environ
	if environ == nil {
		environ = config.ProcessEnvironment()
	}
	for _, line := range config.UnknownVariables(environ) {
		fmt.Fprintf(s.Stderr, "dibs: %s\n", clean(line))
	}
}

// storeTarget returns the target of a command that needs the store itself.
func (s *session) storeTarget() (Target, error) {
	target, err := s.target()
	switch {
	case err != nil:
	case target.Server != "":
		err = usage("this command needs the store itself: use --store")
	default:
		if wrong := engine.Check(target.Store); wrong != nil {
			err = usage("%w", wrong)
		}
	}
	return target, err
}

// secret returns a variable, or the content of the file that its _FILE twin names.
func (s *session) secret(name string) (string, error) {
	if value := s.Getenv(name); value != "" {
		return value, nil
	}
	path := s.Getenv(name + "_FILE")
	if path == "" {
		return "", nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("%s_FILE: %w", name, err)
	}
	return strings.TrimSpace(string(data)), nil
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
	return fillStore(ctx, target, nil)
}

// fillStore is openStore for an import. A new file appears when the registry closes after a call of
// publish, which fill gets; see [engine.Layout].
func fillStore(ctx context.Context, target Target, fill func(publish func())) (*config.Config, dibs.Store, *dibs.Registry, error) {
	cfg, err := loadConfig(target.Config)
	if err == nil {
		err = engine.Check(target.Store)
	}
	if err != nil {
		return nil, nil, nil, usage("%w", err)
	}
	layout := engine.Layout{Store: target.Store, Routes: cfg.Routes, Keep: true, Damaged: target.Damaged, Fill: fill}
	if err := target.mustExist(ctx, layout.Addresses()...); err != nil {
		return nil, nil, nil, err
	}
	store, err := engine.OpenLayout(ctx, layout)
	if err != nil {
		return nil, nil, nil, err
	}
	settings := cfg.Dibs()
	settings.SweepEvery = -1 // a command ends before a sweep is due
	registry, err := embedded.Open(store, settings)
	if err != nil {
		return nil, nil, nil, errors.Join(err, store.Close())
	}
	if !target.NewRules {
		// Without this the command still works, except that it gets no new names there.
		if kept, err := keepRules(ctx, registry, cfg); err == nil && len(kept) > 0 {
			err = registry.SetPolicies(cfg.Policies, cfg.Default)
			if err != nil {
				return nil, nil, nil, errors.Join(err, registry.Close())
			}
		}
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
		if setting.OfPolicies() {
			continue
		}
		server[setting.Env], server[setting.Env+"_FILE"] = true, true
	}
	for _, setting := range config.TableSettings() {
		server[setting.Env] = true
	}
	environ := config.ProcessEnvironment()
	maps.DeleteFunc(environ, func(name, _ string) bool { return server[name] })
	return config.Load(config.Overrides{File: path, Environ: environ, AnyVariables: true})
}

// tls returns the TLS configuration of a target's server. Nil means the default.
func (t Target) tls() (*tls.Config, error) {
	if t.CA == "" && t.Cert == "" {
		if t.CertKey != "" {
			return nil, errors.New("--cert-key needs --cert")
		}
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.CA != "" {
		data, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("--ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("--ca: %s contains no certificate: it must be PEM", t.CA)
		}
	}
	if t.Cert == "" {
		return config, nil
	}
	pair, err := tls.LoadX509KeyPair(t.Cert, cmp.Or(t.CertKey, t.Cert))
	if err != nil {
		return nil, fmt.Errorf("--cert: %w", err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}
