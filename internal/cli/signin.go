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
		"or %s", why, engine.Redacted(sv.config.Store), instead)
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
