// Package signin knows the ways to sign in to a server, and who comes by which: API keys,
// tokens of OpenID Connect issuers, and client certificates.
package signin

import (
	"context"
	"crypto/x509"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/idtoken"
	"github.com/calldibs/dibs/internal/keys"
)

// Desk is where callers sign in. It is safe for concurrent use. Make one with [NewDesk].
type Desk struct {
	ring *keys.Ring
	// local is whether nobody but this machine can come, which needs no key as long as
	// there is no way to sign in.
	local  bool
	closed atomic.Bool
	ways   atomic.Pointer[ways]
}

// ways are those that the configuration names.
type ways struct {
	tokens  *idtoken.Tokens // nil: none
	holders []Holder
}

// NewDesk returns a desk at which API keys count. Local says that nobody but this machine
// can come.
func NewDesk(ring *keys.Ring, local bool) *Desk {
	d := &Desk{ring: ring, local: local}
	d.ways.Store(&ways{})
	return d
}

// Trust replaces the tokens and the certificates that count. Nil tokens are none.
func (d *Desk) Trust(tokens *idtoken.Tokens, holders []Holder) {
	if tokens != nil || len(holders) > 0 {
		d.closed.Store(true)
	}
	d.ways.Store(&ways{tokens, holders})
}

// Closed reports whether everybody has to sign in. A desk that has known a way to do so
// never opens again.
func (d *Desk) Closed(ctx context.Context) (bool, error) {
	if d.closed.Load() {
		return true, nil
	}
	some, err := d.ring.Any(ctx)
	if some {
		d.closed.Store(true)
	}
	return some, err
}

// Bearer says who has what came with "Authorization: Bearer"; empty where nothing did.
// What has dots in it is a token if tokens count, and everything else a key.
func (d *Desk) Bearer(ctx context.Context, secret string) (access.Caller, error) {
	if secret == "" {
		return d.nobody(ctx)
	}
	if tokens := d.ways.Load().tokens; tokens != nil && idtoken.Looks(secret) {
		return tokens.Find(ctx, secret)
	}
	key, err := d.ring.Find(ctx, secret)
	return key.Caller(), err
}

// nobody lets in who shows nothing, where that will do.
func (d *Desk) nobody(ctx context.Context) (access.Caller, error) {
	if !d.local {
		return access.Caller{}, keys.ErrUnknown
	}
	closed, err := d.Closed(ctx)
	switch {
	case err != nil:
		return access.Caller{}, err
	case closed:
		return access.Caller{}, keys.ErrUnknown
	default:
		return access.Everything, nil
	}
}

// Certificate says whose a client certificate is, which TLS has found to be good. The
// first holder that it fits is who comes. Where there are no holders, certificates only
// open connections, and say nothing about who comes.
func (d *Desk) Certificate(ctx context.Context, c *x509.Certificate) (access.Caller, error) {
	holders := d.ways.Load().holders
	if len(holders) == 0 {
		return d.nobody(ctx)
	}
	if !time.Now().Before(c.NotAfter) { // connections may last longer than certificates
		return access.Caller{}, &access.RefusedError{Reason: access.UnknownCertificate, Detail: "this client certificate is over: connect with a new one"}
	}
	for _, h := range holders {
		if h.has(c) {
			return h.Caller(), nil
		}
	}
	return access.Caller{}, &access.RefusedError{
		Reason: access.UnknownCertificate,
		Detail: "this client certificate is of nobody who is known here: name it in [[certificates]] of the server's configuration, or send a key",
	}
}
