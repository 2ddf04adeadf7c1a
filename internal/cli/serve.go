package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dashboard"
	"github.com/calldibs/dibs/dibscache"
	"github.com/calldibs/dibs/dibsotel"
	"github.com/calldibs/dibs/embedded"
	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/internal/backoff"
	"github.com/calldibs/dibs/internal/build"
	"github.com/calldibs/dibs/internal/config"
	"github.com/calldibs/dibs/internal/copier"
	"github.com/calldibs/dibs/internal/engine"
	"github.com/calldibs/dibs/internal/health"
	"github.com/calldibs/dibs/internal/server"
	"github.com/calldibs/dibs/internal/tlsfiles"
	"github.com/calldibs/dibs/internal/tracing"
	"github.com/calldibs/dibs/internal/webhook"
)

func (s *session) serve() *cobra.Command {
	var given *pflag.FlagSet
	cmd := s.command("serve", func(ctx context.Context, _ []string) (*answer, error) {
		if f := s.flags; f.server+f.key+f.ca+f.cert+f.certKey != "" {
			return nil, usage("--server, --key, --ca, --cert and --cert-key are for clients; set the certificates of a server in [tls] of --config")
		}
		return nil, s.runServer(ctx, s.overrides(given))
	})
	given = cmd.Flags()
	cmd.Flags().Bool("no-dashboard", false, "without the dashboard, as --dashboard off")
	for _, setting := range config.Settings() {
		switch {
		case cmd.Flags().Lookup(setting.Flag) != nil:
		case setting.IsBool():
			cmd.Flags().Bool(setting.Flag, false, setting.About)
		default:
			cmd.Flags().String(setting.Flag, "", setting.About+" (default "+setting.Default+")")
		}
	}
	for _, setting := range config.TableSettings() {
		about := setting.About
		if setting.Default != "" {
			about += " (default " + setting.Default + ")"
		}
		cmd.Flags().String(setting.Flag, "", about)
	}
	return cmd
}

// overrides returns the settings of the command line and the environment.
func (s *session) overrides(given *pflag.FlagSet) config.Overrides {
	o := config.Overrides{File: s.flags.config, Flags: make(map[string]string), Environ: s.Environ}
	given.Visit(func(f *pflag.Flag) {
		if f.Name == "no-dashboard" {
			o.Flags["dashboard"] = config.Off
		} else if !slices.Contains([]string{"config", "json", "no-color", "server", "key", "ca", "cert", "cert-key"}, f.Name) {
			o.Flags[f.Name] = f.Value.String()
		}
	})
	return o
}

// configCommand returns the commands about the configuration of a server.
func (s *session) configCommand() *cobra.Command {
	return s.group("config", s.command("config check", s.checkConfig),
		s.command("config sample", func(context.Context, []string) (*answer, error) {
			_, err := io.WriteString(s.Stdout, config.Sample)
			return nil, err
		}))
}

func (s *session) checkConfig(_ context.Context, args []string) (*answer, error) {
	o := config.Overrides{File: s.flags.config, Environ: s.Environ}
	if len(args) == 1 {
		o.File = args[0]
	}
	cfg, err := config.Load(o)
	if err != nil {
		return nil, usage("%w", err)
	}
	if cfg.TLS.On() {
		if _, err := cfg.TLS.Load(); err != nil {
			return nil, usage("tls: %w", err)
		}
	}
	if _, err := cfg.DeclaredKeys(o.Environ); err != nil {
		return nil, usage("%w", err)
	}
	if _, err := cfg.DeclaredWebhooks(o.Environ); err != nil {
		return nil, usage("%w", err)
	}
	return &answer{map[string]any{"ok": true, "policies": len(cfg.Policies)}, func(p *printer) {
		p.line("The configuration is valid: %s, listening on %s, names in %s",
			count(len(cfg.Policies), "policy", "policies"), cfg.Listen, engine.Redacted(cfg.Store))
		for _, route := range cfg.Routes {
			p.line("  names of %s in %s (%s)", join(route.Scopes), engine.Redacted(route.Store), route.Name)
		}
	}}, nil
}

// service is a running server with its dependencies.
type service struct {
	overrides config.Overrides
	config    *config.Config
	log       *slog.Logger
	health    *health.Monitor
	store     dibs.Store
	keys      *auth.KeyStore
	auth      *auth.Authenticator
	metrics   *server.Metrics
	registry  *dibs.Registry
	tls       *tlsfiles.Reloader       // nil means no TLS
	policies  *config.Config           // of the last reload; owns the policies in force
	names     atomic.Pointer[[]string] // of the policies in force
	listener  net.Listener
	server    *server.Server
	webhooks  *webhook.Service // nil means none
	traces    *tracing.Tracing // nil means none
	closing   []func() error   // undoes open, last first
}

func (s *session) runServer(ctx context.Context, o config.Overrides) error {
	cfg, err := config.Load(o)
	if err != nil {
		return usage("%w", err)
	}
	sv := &service{overrides: o, config: cfg, policies: cfg, log: newLog(s.Stderr, cfg)}
	if err := sv.open(ctx); err != nil {
		return errors.Join(err, sv.close())
	}
	stop := sv.reloadOnHangup(ctx) // before the server accepts requests
	undeliver := sv.deliver(ctx)
	sv.welcome(s.Stdout, s.paintOn(s.Stdout))
	err = sv.server.Run(ctx, sv.listener, server.Timeouts{
		ReadHeader: cfg.ReadHeaderTimeout, Idle: cfg.IdleTimeout, Drain: cfg.DrainTimeout,
	})
	stop()
	undeliver()
	// After the requests in flight, so that no acknowledged change is lost.
	err = errors.Join(err, sv.close())
	sv.log.Info("stopped")
	return err
}

// close undoes open, even if open failed halfway.
func (sv *service) close() (err error) {
	for _, undo := range slices.Backward(sv.closing) {
		err = errors.Join(err, undo())
	}
	return err
}

// open opens the dependencies of the server, and listens.
func (sv *service) open(ctx context.Context) (err error) {
	sv.closing = append(sv.closing, func() error { return sv.policies.Close() })
	if err := sv.openStore(ctx); err != nil {
		return err
	}
	sv.closing = append(sv.closing, sv.store.Close)
	sv.metrics = server.NewMetrics()
	sv.keys = auth.NewKeyStore(sv.store)
	sv.auth = auth.NewAuthenticator(sv.keys, sv.keyless())
	declared, err := sv.config.DeclaredKeys(sv.overrides.Environ)
	if err != nil {
		return usage("%w", err)
	}
	sv.keys.Declare(declared)
	sv.trust(ctx, sv.config)
	if err := sv.checkKeys(ctx); err != nil {
		return err
	}
	cfg := sv.config.Dibs()
	cfg.Logger, cfg.Observer = sv.log, sv.metrics.Observer()
	if err := sv.trace(ctx, &cfg); err != nil {
		return err
	}
	if sv.registry, err = embedded.Open(sv.store, cfg); err != nil {
		return err
	}
	sv.closing = append(sv.closing, sv.registry.Close)
	if err := sv.checkRules(ctx, sv.config); err != nil {
		return err
	}
	if err := sv.registry.SetPolicies(sv.config.Policies, sv.config.Default); err != nil {
		return err
	}
	cache, err := sv.openCache()
	if err != nil {
		return err
	}
	if err = sv.listen(); err != nil {
		return err
	}
	sv.noteNames(sv.config)
	sv.webhooks = newWebhooks(sv.config.Webhooks, sv.registry, sv.store, sv.log, sv.metrics)
	if err := sv.declareWebhooks(ctx, sv.config); err != nil {
		return err
	}
	sv.server = server.New(server.Config{
		Version:  build.Read().Version,
		Registry: sv.registry, Store: sv.store, Health: sv.health, Keys: sv.keys, Webhooks: sv.webhooks,
		Stores: storesOf(sv.config), PolicyNames: func() []string { return *sv.names.Load() },
		Dashboard:    sv.dashboard(),
		Authenticate: sv.auth.Bearer, Certificate: sv.auth.Certificate, SignIn: sv.auth,
		// With certificates, tokens or keys configured, being local is not enough.
		LocalOnly: sv.keyless() && len(sv.config.OIDC)+len(sv.config.Certificates)+len(sv.config.Keys) == 0,
		Origins:   sv.config.CORSOrigins,
		MaxStale:  sv.config.MaxStale, Cache: cache, MaxBody: int64(sv.config.MaxBody), RequestTimeout: sv.config.RequestTimeout,
		Limits: sv.config.Limits, Logger: sv.log, Metrics: sv.metrics, TracerProvider: sv.traces.Provider(),
	})
	return nil
}

// noteNames notes which namespaces and types have a policy.
func (sv *service) noteNames(cfg *config.Config) {
	sv.names.Store(new(slices.Collect(maps.Keys(cfg.Policies))))
}

// storesOf describes the stores of a configuration.
func storesOf(cfg *config.Config) []server.StoreInfo {
	kind := func(address string) string {
		scheme, _, _ := strings.Cut(address, ":")
		return strings.Replace(scheme, "postgresql", "postgres", 1)
	}
	stores := []server.StoreInfo{{Engine: kind(cfg.Store)}}
	for _, route := range cfg.Routes {
		stores = append(stores, server.StoreInfo{Name: route.Name, Engine: kind(route.Store), Scopes: route.Scopes})
	}
	return stores
}

// dashboard returns the files of the dashboard, or nil for none.
func (sv *service) dashboard() fs.FS {
	if sv.config.Dashboard != config.On {
		return nil
	}
	return dashboard.Files()
}

// openEvery is the pause between attempts to open a store.
const openEvery = 250 * time.Millisecond

// openStore opens the store and those of all routes. It waits for one that does not answer: after
// a reboot, or in a group of containers, the database may start later.
func (sv *service) openStore(ctx context.Context) error {
	began := time.Now()
	for tries := 0; ; tries++ {
		sv.health = health.NewMonitor(sv.log)
		store, err := engine.OpenLayout(ctx, engine.Layout{
			Store: sv.config.Store, Routes: sv.config.Routes, Logger: sv.log, Watch: sv.health.Watch,
		})
		if err == nil {
			if tries > 0 {
				sv.log.Info("the store answers", "after", time.Since(began).Round(time.Millisecond))
			}
			sv.store = store
			return nil
		}
		failed, ok := errors.AsType[*dibs.Error](err)
		mayAnswerLater := ok && (failed.Cause == dibs.CauseNoAnswer || failed.Cause == dibs.CauseConnections)
		if !mayAnswerLater || time.Since(began) >= sv.config.Wait {
			return err
		}
		if tries == 0 {
			sv.log.Warn("the store does not answer: waiting for it", "store", engine.Redacted(sv.config.Store),
				"wait", sv.config.Wait, "cause", string(failed.Cause), "error", err)
		}
		if backoff.Sleep(ctx, openEvery) != nil {
			return err
		}
	}
}

// trace starts tracing if it is configured.
func (sv *service) trace(ctx context.Context, cfg *dibs.Config) (err error) {
	if sv.traces, err = tracing.Start(ctx, sv.config.Tracing, sv.log); err != nil || sv.traces == nil {
		return err
	}
	sv.closing = append(sv.closing, func() error { sv.traces.Stop(sv.log); return nil })
	dibsotel.Observe(cfg, sv.traces.Provider())
	return sv.traces.Register(sv.metrics.Registerer())
}

// openCache opens a cache if stale answers are allowed.
func (sv *service) openCache() (*dibscache.Cache, error) {
	if sv.config.MaxStale == 0 {
		return nil, nil
	}
	cache, err := dibscache.New(sv.registry, dibscache.Config{MaxStale: sv.config.MaxStale, Logger: sv.log})
	if err == nil {
		sv.closing = append(sv.closing, cache.Close)
	}
	return cache, err
}

// newWebhooks returns the webhooks of a registry, or nil if they are disabled.
func newWebhooks(
	cfg config.Webhooks, registry *dibs.Registry, store dibs.Store, log *slog.Logger, metrics *server.Metrics,
) *webhook.Service {
	if !cfg.Enabled {
		return nil
	}
	cfg.Registry, cfg.Store, cfg.Logger, cfg.Observer = registry, store, log, metrics.WebhookObserver()
	return webhook.New(cfg.Config)
}

// declareWebhooks makes the webhooks those of the configuration.
func (sv *service) declareWebhooks(ctx context.Context, cfg *config.Config) error {
	if sv.webhooks == nil {
		return nil
	}
	declared, err := cfg.DeclaredWebhooks(sv.overrides.Environ)
	if err != nil {
		return usage("%w", err)
	}
	return sv.webhooks.Declare(ctx, declared)
}

// deliver sends events to webhooks until stop, which waits for deliveries in flight.
func (sv *service) deliver(ctx context.Context) (stop func()) {
	if sv.webhooks == nil {
		return func() {}
	}
	// Deliveries go on while the server drains.
	end := background(context.WithoutCancel(ctx), sv.webhooks.Deliver)
	return func() {
		end()
		sv.webhooks.Close()
	}
}

// background runs work until stop, which waits for its end.
func background(ctx context.Context, work func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		work(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// newLog returns the logger to stderr.
func newLog(stderr io.Writer, cfg *config.Config) *slog.Logger {
	options := &slog.HandlerOptions{Level: cfg.LogLevel}
	if cfg.LogFormat == "json" {
		options.ReplaceAttr = durationInWords
		return slog.New(health.Quiet(slog.NewJSONHandler(stderr, options)))
	}
	return slog.New(health.Quiet(slog.NewTextHandler(stderr, options)))
}

// movedTo returns where the registry of a store has moved; empty if none has.
func (sv *service) movedTo() string {
	parts := []dibs.Part{{Store: sv.store}}
	if several, ok := sv.store.(dibs.Partitioned); ok {
		parts = several.Parts()
	}
	for _, part := range parts {
		// A store that does not answer is in the log already.
		if to, err := copier.MovedTo(context.Background(), part.Store); err == nil && to != "" {
			return to
		}
	}
	return ""
}

// durationInWords writes a duration as the text format does, "13.5s". In JSON slog would write
// nanoseconds, without the unit.
func durationInWords(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// welcome prints the server's URL and a first request.
func (sv *service) welcome(out io.Writer, paint paint) {
	address := sv.listener.Addr().String()
	sv.log.Info("serving", "listen", address, "store", engine.Redacted(sv.config.Store), "tls", sv.tls != nil, "version", build.Read().Version)
	for _, route := range sv.config.Routes {
		sv.log.Info("routing", "name", route.Name, "scopes", strings.Join(route.Scopes, " "), "store", engine.Redacted(route.Store))
	}
	moved := sv.movedTo()
	if moved != "" {
		sv.log.Warn("this registry has moved: this server answers reads, as of then, and refuses all changes; stop it, and start one with the new store",
			"store", moved)
	}
	if sv.config.LogFormat == "json" || moved != "" {
		return // the output is for programs, or the first request would be refused
	}
	host, port, _ := net.SplitHostPort(address)
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	url := "http://" + net.JoinHostPort(host, port)
	if sv.tls != nil {
		url = "https://" + net.JoinHostPort("localhost", port) // certificates have names
	}
	key := ""
	if closed, err := sv.auth.Required(context.Background()); err == nil && closed {
		key = " \\\n    " + `-H "Authorization: Bearer $DIBS_KEY"`
	}
	page := "the dashboard, in a browser"
	if sv.config.Dashboard != config.On {
		page = "more examples"
	}
	fmt.Fprintf(out, `
Dibs is at %[4]s, with names in %[2]s.

Hold a name for five minutes:

  curl -s %[1]s/v1/reservations%[3]s \
    -H 'Content-Type: application/json' \
    -d '{"namespace": "slug", "value": "Alice & Bob"}'

  %[1]s/       %[5]s
  %[1]s/docs/  the API

`, url, engine.Redacted(sv.config.Store), key, paint.in(bold, url), page)
}
