package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

const maxURL = 2048

// errForbidden refuses to dial an address. It does not name the address, so that a caller
// cannot learn what a host name resolves to inside the network.
var errForbidden = errors.New("the receiver's address is not public, and allowPrefixes in the server's configuration does not allow it")

// Guard prevents server-side request forgery: it refuses internal addresses, which are those
// of this machine, of private networks and of metadata services. It checks the very address
// that is dialled, so an earlier result of a DNS lookup does not matter.
type Guard struct {
	allowed []netip.Prefix
	ssrf    *ssrf.Guardian
}

// NewGuard returns a Guard that allows public addresses and the given prefixes.
func NewGuard(allowed ...netip.Prefix) *Guard {
	is4 := func(p netip.Prefix) bool { return p.Addr().Is4() }
	v4 := slices.DeleteFunc(slices.Clone(allowed), func(p netip.Prefix) bool { return !is4(p) })
	v6 := slices.DeleteFunc(slices.Clone(allowed), is4)
	return &Guard{
		allowed: allowed,
		ssrf:    ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...)),
	}
}

// Check is for [net.Dialer.Control], which calls it right before an address is dialled.
func (g *Guard) Check(network, address string, conn syscall.RawConn) error {
	if err := g.ssrf.Safe(network, address, conn); err != nil {
		return errForbidden
	}
	return nil
}

// dial connects deliveries.
func (g *Guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: 10 * time.Second, Control: g.Check}
	return dialer.DialContext(ctx, network, address)
}

// CheckURL returns what is wrong with a receiver's URL. A valid URL may still be refused by
// Check when it is dialled: what its host name resolves to can change.
func (g *Guard) CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case len(text) > maxURL:
		return fmt.Errorf("has %d bytes, more than the %d allowed", len(text), maxURL)
	case err != nil || u.Hostname() == "" || u.Opaque != "":
		return errors.New(`is not a URL: write it like "https://example.com/dibs"`)
	case u.User != nil:
		return errors.New("contains a user name or password: remove it, deliveries are signed")
	case u.Fragment != "":
		return errors.New("has a fragment: remove the # and what follows")
	}
	ip, err := netip.ParseAddr(u.Hostname())
	literal := err == nil
	switch {
	case literal && g.ssrf.SafeAddr(ip) != nil:
		return errForbidden
	case u.Scheme == "https", u.Scheme == "http" && g.allowsPlain(u.Hostname(), ip):
		return nil
	default:
		return errors.New("must begin with https://; http:// is only for addresses in allowPrefixes of the server's configuration")
	}
}

// allowsPlain reports whether a host may be sent to without TLS: it is in the allowed prefixes.
func (g *Guard) allowsPlain(host string, ip netip.Addr) bool {
	if strings.EqualFold(host, "localhost") {
		ip = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return slices.ContainsFunc(g.allowed, func(p netip.Prefix) bool { return p.Contains(ip) })
}
