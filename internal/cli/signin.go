package cli

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"reflect"

	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/internal/config"
	"github.com/calldibs/dibs/internal/engine"
	"github.com/calldibs/dibs/internal/tlsfiles"
)

// listen begins to listen, behind TLS if there is to be any. Certificates come first: a
// server that could not use them does not start.
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
		sv.log.Warn("there is no TLS: unless a proxy in front has it, others can read keys and tokens on their way")
	}
	return nil
}

// trust lets in those whom the configuration names. Issuers are asked at once, so that
// the log tells if one does not answer; nobody waits for that.
func (sv *service) trust(ctx context.Context, cfg *config.Config) {
	sv.metrics.ForgetIssuers()
	var tokens *auth.TokenVerifier
	if len(cfg.OIDC) > 0 {
		tokens = auth.NewTokenVerifier(cfg.OIDC, auth.TokenOptions{Logger: sv.log, Report: sv.metrics.Issuer})
		go tokens.Discover(ctx)
	}
	sv.auth.Trust(tokens, cfg.Certificates)
}

// reloadSignIn takes over who is let in, and the certificates as they are now.
func (sv *service) reloadSignIn(ctx context.Context, cfg *config.Config) {
	if !reflect.DeepEqual(cfg.OIDC, sv.config.OIDC) || !reflect.DeepEqual(cfg.Certificates, sv.config.Certificates) {
		sv.trust(ctx, cfg)
		sv.config.OIDC, sv.config.Certificates = cfg.OIDC, cfg.Certificates
	}
	if sv.tls != nil {
		sv.tls.Reload()
	}
}

// checkKeys refuses to let other machines in where nobody needs to sign in.
func (sv *service) checkKeys(ctx context.Context) error {
	required, err := sv.auth.Required(ctx)
	if err != nil || required {
		return err
	}
	if sv.keyless() {
		sv.log.Warn("there is no API key: every program of this user may do everything here, and so may everybody whom a proxy lets in that runs as this user. " +
			"Make a key before you put a proxy in front (dibs keys create), or start with --keyless never")
		return nil
	}
	why, instead := fmt.Sprintf("at %s other machines could do everything", sv.config.Listen), "listen on this machine alone, at 127.0.0.1:8080"
	switch {
	case !onLoopback(sv.config.Listen):
	case sv.config.Keyless == config.KeylessNever:
		why, instead = "keyless is never", "start with --keyless local"
	default:
		why, instead = "a proxy in front, as trustedProxies says, could let everybody in", "leave trustedProxies out"
	}
	if sv.config.Store == "mem:" {
		return usage("%s, and API keys cannot be kept in memory: use another store,\nor %s", why, instead)
	}
	return usage("there is no API key yet, and %s: make a key first,\n"+
		"  dibs keys create admin --may all --in '*' --store %s\n"+
		"or %s", why, engine.Redacted(sv.config.Store), instead)
}

// keyless reports whether this machine may call while there is no way to sign in. Where a
// proxy is known to be in front, a request from this machine may be anybody's.
func (sv *service) keyless() bool {
	return onLoopback(sv.config.Listen) && sv.config.Keyless == config.KeylessLocal && len(sv.config.Limits.Proxies.Trusted) == 0
}

// onLoopback reports whether only this machine can reach an address.
func onLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}
