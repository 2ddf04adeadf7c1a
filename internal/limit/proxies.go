package limit

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// The headers in which proxies say for whom they ask.
const (
	XForwardedFor = "X-Forwarded-For"
	Forwarded     = "Forwarded" // RFC 7239
)

// Proxies are those whose word counts on whom they ask for. The zero Proxies believe
// nobody.
type Proxies struct {
	Trusted []netip.Prefix
	// Header is the one that they set: [XForwardedFor] or [Forwarded]. No other counts: a
	// proxy passes on what it does not know, and so what anybody has made up.
	Header string
}

// Visitor is where a request comes from.
type Visitor struct {
	// Addr is the address, as far as anybody who is believed has told. Of IPv6 it is the
	// network of 64 bits: whoever has one address of it has all.
	Addr netip.Addr
	// Proxy is whether a proxy that is believed has sent the request.
	Proxy bool
	// Known is whether Addr can be held against anybody. This machine's own address, and
	// that of a proxy which does not say for whom it asks, stand for many.
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
	words := header(r, p.Header)
	if len(words) == 0 {
		return Visitor{Addr: network(addr), Proxy: true}
	}
	return Visitor{Addr: network(p.behind(addr, words)), Proxy: true, Known: true}
}

func (p Proxies) trusts(addr netip.Addr) bool {
	return slices.ContainsFunc(p.Trusted, func(n netip.Prefix) bool { return n.Contains(addr) })
}

// header returns the elements of a header that may be there several times.
func header(r *http.Request, name string) []string {
	lines := r.Header.Values(name)
	if len(lines) == 0 {
		return nil
	}
	return strings.Split(strings.Join(lines, ","), ",")
}

// behind follows what proxies say, from the last one on, until one says an address that
// is not believed to be a proxy's. Each adds its word behind what it was sent, so whatever
// stands before that anybody can have made up. What makes no sense is held against the
// proxy that says it.
func (p Proxies) behind(addr netip.Addr, words []string) netip.Addr {
	for _, word := range slices.Backward(words) {
		if p.Header == Forwarded {
			word = forOf(word)
		}
		next, ok := parseHop(word)
		if !ok {
			return addr
		}
		if addr = next; !p.trusts(addr) {
			return addr
		}
	}
	return addr
}

// forOf returns for whom an element of a Forwarded header says that it is; nothing where
// it is only a part of one, with a comma inside quotes.
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

// parseHop reads an address, with or without a port, and brackets around one of IPv6.
func parseHop(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if with, err := netip.ParseAddrPort(text); err == nil {
		return with.Addr().Unmap().WithZone(""), true
	}
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	return addr.Unmap().WithZone(""), err == nil
}

// network returns what stands for all addresses that one caller has.
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
