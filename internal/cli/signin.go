package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"reflect"
	"strings"
	"syscall"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/internal/config"
	"github.com/calldibs/dibs/internal/core"
	"github.com/calldibs/dibs/internal/engine"
	"github.com/calldibs/dibs/internal/tlsfiles"
)

// listen listens, with TLS if it is configured. It loads certificates first: a server with
// invalid ones does not start.
func (sv *service) listen() (err error) {
	if sv.config.TLS.On() {
		if sv.tls, err = tlsfiles.Open(sv.config.TLS, sv.log); err != nil {
			return usage("tls: %w", err)
		}
	}
	if sv.listener, err = net.Listen("tcp", sv.config.Listen); err != nil {
		return fmt.Errorf("listening on %s: %w", sv.config.Listen, err)
	}
	switch {
	case sv.tls != nil:
		sv.listener = tls.NewListener(sv.listener, sv.tls.Config())
	case !onLoopback(sv.config.Listen):
		sv.log.Warn("no TLS: unless a proxy in front adds it, keys and tokens can be read on the network")
	}
	return nil
}

// trust sets the trusted issuers and certificates. It contacts the issuers in the background, so
// that the log shows at once if one does not answer.
func (sv *service) trust(ctx context.Context, cfg *config.Config) {
	sv.metrics.ForgetIssuers()
	var tokens *auth.TokenVerifier
	if len(cfg.OIDC) > 0 {
		tokens = auth.NewTokenVerifier(cfg.OIDC, auth.TokenOptions{Logger: sv.log, Report: sv.metrics.Issuer})
		go tokens.Discover(ctx)
	}
	sv.auth.Trust(tokens, cfg.Certificates)
}

// reloadSignIn applies changed issuers and client certificates, and reloads the TLS files.
func (sv *service) reloadSignIn(ctx context.Context, cfg *config.Config) {
	if !reflect.DeepEqual(cfg.OIDC, sv.config.OIDC) || !reflect.DeepEqual(cfg.Certificates, sv.config.Certificates) {
		sv.trust(ctx, cfg)
		sv.config.OIDC, sv.config.Certificates = cfg.OIDC, cfg.Certificates
	}
	if sv.tls != nil {
		sv.tls.Reload()
	}
}

// checkKeys refuses to start a server without any way to sign in, except on localhost.
func (sv *service) checkKeys(ctx context.Context) error {
	required, err := sv.auth.Required(ctx)
	if err != nil || required {
		return err
	}
	if sv.keyless() {
		sv.log.Warn("no API key: every program of this user has all rights, and so has every client of a proxy that runs as this user. " +
			"Make a key before you put a proxy in front (dibs keys create), or start with --keyless never")
		return nil
	}
	why := fmt.Sprintf("at %s every other machine would have all rights", sv.config.Listen)
	instead := "listen only on this machine, at 127.0.0.1:8080"
	switch {
	case !onLoopback(sv.config.Listen):
	case sv.config.Keyless == config.KeylessNever:
		why, instead = "keyless is never", "start with --keyless local"
	default:
		why, instead = "with trustedProxies every client of a proxy would have all rights", "remove trustedProxies"
	}
	if sv.config.Store == "mem:" {
		return usage("%s, and API keys in memory are lost with the process: use another store,\nor %s", why, instead)
	}
	return usage("no API key yet, and %s: make a key first,\n"+
		"  dibs keys create admin --may all --in '*' --store %s\n"+
		"or %s", why, shellWord(engine.Redacted(sv.config.Store)), instead)
}

// keyless reports whether requests from this machine need no key while there is no way to sign
// in. With a trusted proxy, a request from this machine may come from anywhere.
func (sv *service) keyless() bool {
	return onLoopback(sv.config.Listen) && sv.config.Keyless == config.KeylessLocal && len(sv.config.Limits.Proxies.Trusted) == 0
}

// onLoopback reports whether an address is only reachable from this machine.
func onLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

// reloadOnHangup reloads policies and certificates at each SIGHUP, until stop.
func (sv *service) reloadOnHangup(ctx context.Context) (stop func()) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	end := background(ctx, func(ctx context.Context) {
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangup:
				sv.reload(ctx)
			}
		}
	})
	return func() {
		signal.Stop(hangup)
		end()
	}
}

// reload applies the policies and the sign-in settings of the file. An invalid file changes
// nothing.
func (sv *service) reload(ctx context.Context) {
	cfg, err := sv.readPolicies(ctx)
	if err != nil {
		sv.log.Error("reload failed; the previous policies stay in force", "error", err)
		return
	}
	sv.reloadSignIn(ctx, cfg)
	sv.noteNames(cfg)
	if err := sv.declareWebhooks(ctx, cfg); err != nil {
		sv.log.Error("reloading the declared webhooks failed; those that are left stay as they were", "error", err)
	}
	if !reflect.DeepEqual(cfg.Routes, sv.config.Routes) {
		sv.log.Warn("routes changed; restart to apply them")
	}
	sv.log.Info("policies reloaded; restart to apply other settings")
	if err := sv.policies.Close(); err != nil {
		sv.log.Warn("closing an unused witness failed", "error", err)
	}
	sv.policies = cfg
}

// readPolicies reads the file, and sets its policies on the registry, and its keys.
func (sv *service) readPolicies(ctx context.Context) (*config.Config, error) {
	cfg, err := config.Load(sv.overrides)
	if err != nil {
		return nil, err
	}
	declared, err := cfg.DeclaredKeys(sv.overrides.Environ)
	if err == nil {
		err = sv.checkRules(ctx, cfg)
	}
	if err == nil {
		err = sv.registry.SetPolicies(cfg.Policies, cfg.Default)
	}
	if err != nil {
		return nil, errors.Join(err, cfg.Close())
	}
	sv.keys.Declare(declared)
	return cfg, nil
}

// checkRules refuses policies whose rules differ from those of the existing names: no new name of
// such a namespace could be taken. A namespace that differs only by the checks that policies have
// by default keeps its rules.
func (sv *service) checkRules(ctx context.Context, cfg *config.Config) error {
	kept, err := keepRules(ctx, sv.registry, cfg)
	if err != nil {
		return err
	}
	if len(kept) > 0 {
		sv.log.Warn(core.KeptRules, "namespaces", strings.Join(kept, " "))
	}
	err = sv.registry.CheckPolicies(ctx, cfg.Policies, cfg.Default)
	if other, ok := errors.AsType[*dibs.OtherRulesError](err); ok && !other.Final() {
		first := other.Namespaces[0].Namespace
		return fmt.Errorf("%w: run \"dibs recanonicalize %s\" with this configuration, see docs/operations.md", err, first)
	}
	return err
}

// keepRules lets namespaces keep the rules that they had before policies had checks by default, and
// returns these namespaces.
func keepRules(ctx context.Context, registry *dibs.Registry, cfg *config.Config) (kept []string, err error) {
	policies, kept, err := core.KeepRules(ctx, registry, cfg.Policies, cfg.Default, cfg.Former)
	if err == nil {
		cfg.Policies = policies
	}
	return kept, err
}
