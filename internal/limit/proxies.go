package limit

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// The headers in which proxies name their clients.
const (
	XForwardedFor = "X-Forwarded-For"
	Forwarded     = "Forwarded" // RFC 7239
)

// Proxies are the proxies that are trusted to name their clients. The zero Proxies trust none.
type Proxies struct {
	Trusted []netip.Prefix
	// Header is the header that they set: [XForwardedFor] or [Forwarded]. The other one is
	// ignored: a proxy may pass it on from a client that forged it.
	Header string
}

// Visitor is where a request comes from.
type Visitor struct {
	// Addr is the client's address, as far as it can be trusted. For IPv6 it is the network
	// of 64 bits, because one client may use all its addresses.
	Addr netip.Addr
	// Proxy is whether a trusted proxy sent the request.
	Proxy bool
	// Known is whether Addr identifies one client. The address of this machine, and of a
	// proxy that does not name its client, stand for many.
	Known bool
}

// Visitor returns where a request comes from.
func (p Proxies) Visitor(r *http.Request) Visitor {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return Visitor{}
	}
	addr := peer.Addr().Unmap().WithZone("")
	if !p.trusts(addr) {
		return Visitor{Addr: network(addr), Known: !addr.IsLoopback()}
	}
	hops := elements(r, p.Header)
	if len(hops) == 0 {
		return Visitor{Addr: network(addr), Proxy: true}
	}
	return Visitor{Addr: network(p.client(addr, hops)), Proxy: true, Known: true}
}

func (p Proxies) trusts(addr netip.Addr) bool {
	return slices.ContainsFunc(p.Trusted, func(n netip.Prefix) bool { return n.Contains(addr) })
}

func elements(r *http.Request, name string) []string {
	lines := r.Header.Values(name)
	if len(lines) == 0 {
		return nil
	}
	return strings.Split(strings.Join(lines, ","), ",")
}

// client follows the hops from the last one back, until one is not a trusted proxy. Each proxy
// appends the address that it saw, so a client may have forged the hops before. If a hop is not
// an address, the proxy that sent it counts as the client.
func (p Proxies) client(addr netip.Addr, hops []string) netip.Addr {
	for _, hop := range slices.Backward(hops) {
		if p.Header == Forwarded {
			hop = forOf(hop)
		}
		next, ok := parseHop(hop)
		if !ok {
			return addr
		}
		if addr = next; !p.trusts(addr) {
			return addr
		}
	}
	return addr
}

// forOf returns the "for" parameter of an element of a Forwarded header; empty for a part of an
// element that was cut at a comma inside quotes.
func forOf(element string) string {
	if strings.Count(element, `"`)%2 != 0 {
		return ""
	}
	for pair := range strings.SplitSeq(element, ";") {
		if name, value, ok := strings.Cut(strings.TrimSpace(pair), "="); ok && strings.EqualFold(name, "for") {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}

// parseHop parses an address, with or without a port or brackets.
func parseHop(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if with, err := netip.ParseAddrPort(text); err == nil {
		return with.Addr().Unmap().WithZone(""), true
	}
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	return addr.Unmap().WithZone(""), err == nil
}

// network returns the address that stands for all addresses of one client.
func network(addr netip.Addr) netip.Addr {
	if addr.Is4() {
		return addr
	}
	prefix, err := addr.Prefix(64)
	if err != nil {
		return addr
	}
	return prefix.Addr()
}
