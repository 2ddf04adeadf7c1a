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

// errForbidden is why an address was not dialled. It names no address: what a name means
// inside of a network is nobody's business.
var errForbidden = errors.New("the receiver's address is not a public one, and is not allowed by allowPrefixes of the server's configuration")

// Guard keeps deliveries away from addresses inside: of this machine, of private
// networks, of metadata services. It looks at the very address that is dialled, so what
// a name resolved to before does not matter.
type Guard struct {
	allowed []netip.Prefix
	ssrf    *ssrf.Guardian
}

// NewGuard returns a Guard that lets public addresses pass, and those in the prefixes.
func NewGuard(allowed ...netip.Prefix) *Guard {
	is4 := func(p netip.Prefix) bool { return p.Addr().Is4() }
	v4 := slices.DeleteFunc(slices.Clone(allowed), func(p netip.Prefix) bool { return !is4(p) })
	v6 := slices.DeleteFunc(slices.Clone(allowed), is4)
	return &Guard{
		allowed: allowed,
		ssrf:    ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...)),
	}
}

// Check is for [net.Dialer.Control]: it is asked about an address right before that is
// dialled.
func (g *Guard) Check(network, address string, conn syscall.RawConn) error {
	if err := g.ssrf.Safe(network, address, conn); err != nil {
		return errForbidden
	}
	return nil
}

// dial is how deliveries connect.
func (g *Guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: 10 * time.Second, Control: g.Check}
	return dialer.DialContext(ctx, network, address)
}

// CheckURL says what is wrong with a receiver's address. That it passes does not mean
// that it may be dialled: names can mean anything, and another thing tomorrow.
func (g *Guard) CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case len(text) > maxURL:
		return fmt.Errorf("has %d bytes, more than the %d allowed", len(text), maxURL)
	case err != nil || u.Hostname() == "" || u.Opaque != "":
		return errors.New(`is no address: write it like "https://example.com/dibs"`)
	case u.User != nil:
		return errors.New("has a user in it: deliveries are signed, a receiver needs no password")
	case u.Fragment != "":
		return errors.New("has a fragment: leave out what follows the #")
	}
	ip, err := netip.ParseAddr(u.Hostname())
	literal := err == nil
	switch {
	case literal && g.ssrf.SafeAddr(ip) != nil:
		return errForbidden
	case u.Scheme == "https", u.Scheme == "http" && g.mayBePlain(u.Hostname(), ip):
		return nil
	default:
		return errors.New("must begin with https://; http:// is for addresses that the server's configuration allows by allowPrefixes")
	}
}

// mayBePlain reports whether a host may be sent to without TLS: it is one inside, and
// expressly allowed.
func (g *Guard) mayBePlain(host string, ip netip.Addr) bool {
	if strings.EqualFold(host, "localhost") {
		ip = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return slices.ContainsFunc(g.allowed, func(p netip.Prefix) bool { return p.Contains(ip) })
}
