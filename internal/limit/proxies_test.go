package limit_test

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/calldibs/dibs/internal/limit"
)

// Only trusted proxies can name their clients.
func TestVisitor(t *testing.T) {
	t.Parallel()
	const header, rfc = limit.XForwardedFor, limit.Forwarded
	for _, c := range []struct {
		what, peer, header string
		sent               []string // lines of the header
		also               string   // in the other header
		want               string
		proxy, known       bool
	}{
		{"no proxy", "192.0.2.7:5000", header, nil, "", "192.0.2.7", false, true},
		{"made up", "192.0.2.7:5000", header, []string{"203.0.113.9"}, "", "192.0.2.7", false, true},
		{"made up, a proxy's", "192.0.2.7:5000", header, []string{"10.0.0.1"}, "", "192.0.2.7", false, true},
		{"this machine", "127.0.0.1:5000", header, nil, "", "127.0.0.1", false, false},
		{"this machine, made up", "127.0.0.1:5000", header, []string{"203.0.113.9"}, "", "127.0.0.1", false, false},
		{"this machine by IPv6", "[::1]:5000", header, nil, "", "::", false, false},

		{"a proxy without a client", "10.0.0.1:5000", header, nil, "", "10.0.0.1", true, false},
		{"a proxy", "10.0.0.1:5000", header, []string{"203.0.113.9"}, "", "203.0.113.9", true, true},
		{"a proxy, and the client made up another hop", "10.0.0.1:5000", header, []string{"198.51.100.1, 203.0.113.9"}, "", "203.0.113.9", true, true},
		{"a proxy that adds a line", "10.0.0.1:5000", header, []string{"198.51.100.1", "203.0.113.9"}, "", "203.0.113.9", true, true},
		{"two proxies", "10.0.0.1:5000", header, []string{"203.0.113.9, 10.0.0.2"}, "", "203.0.113.9", true, true},
		{"two proxies, and the client made up a third", "10.0.0.1:5000", header, []string{"198.51.100.1, 10.9.9.9, 203.0.113.9, 10.0.0.2"}, "", "203.0.113.9", true, true},
		{"only proxies", "10.0.0.1:5000", header, []string{"10.0.0.3,10.0.0.2"}, "", "10.0.0.3", true, true},
		{"with a port", "10.0.0.1:5000", header, []string{"203.0.113.9:1234"}, "", "203.0.113.9", true, true},
		{"a client on the proxy's machine", "10.0.0.1:5000", header, []string{"127.0.0.1"}, "", "127.0.0.1", true, true},
		{"not an address", "10.0.0.1:5000", header, []string{"unknown"}, "", "10.0.0.1", true, true},
		{"an empty header", "10.0.0.1:5000", header, []string{""}, "", "10.0.0.1", true, true},
		{"not an address behind a proxy", "10.0.0.1:5000", header, []string{"203.0.113.9, what, 10.0.0.2"}, "", "10.0.0.2", true, true},
		{"the other header is ignored", "10.0.0.1:5000", header, []string{"203.0.113.9"}, "for=198.51.100.1", "203.0.113.9", true, true},
		{"the other header alone", "10.0.0.1:5000", header, nil, "for=198.51.100.1", "10.0.0.1", true, false},

		{"RFC 7239", "10.0.0.1:5000", rfc, []string{"for=198.51.100.1, For=203.0.113.9;proto=https"}, "198.51.100.2", "203.0.113.9", true, true},
		{"RFC 7239, quoted", "10.0.0.1:5000", rfc, []string{`proto=http; for="203.0.113.9:4711"`}, "", "203.0.113.9", true, true},
		{"RFC 7239, IPv6", "10.0.0.1:5000", rfc, []string{`for="[2001:db8:1:2:3::4]:80"`}, "", "2001:db8:1:2::", true, true},
		{"RFC 7239, hidden", "10.0.0.1:5000", rfc, []string{"for=_hidden"}, "", "10.0.0.1", true, true},
		{"RFC 7239, a comma in quotes", "10.0.0.1:5000", rfc, []string{`for=203.0.113.9;host="a,for=198.51.100.1"`}, "", "10.0.0.1", true, true},

		{"IPv6 is the network", "[2001:db8:1:2:aaaa::1]:5000", header, nil, "", "2001:db8:1:2::", false, true},
		{"the same network", "[2001:db8:1:2:bbbb:cccc::2]:5000", header, nil, "", "2001:db8:1:2::", false, true},
		{"another network", "[2001:db8:1:3::1]:5000", header, nil, "", "2001:db8:1:3::", false, true},
		{"IPv4 in IPv6", "[::ffff:192.0.2.7]:5000", header, nil, "", "192.0.2.7", false, true},
		{"a proxy, IPv4 in IPv6", "[::ffff:10.0.0.1]:5000", header, []string{"::ffff:203.0.113.9"}, "", "203.0.113.9", true, true},
		{"a proxy by IPv6", "[fd00::1]:5000", header, []string{"[2001:db8:1:2::9]"}, "", "2001:db8:1:2::", true, true},
		{"a zone", "[fe80::1%eth0]:5000", header, nil, "", "fe80::", false, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			p := limit.Proxies{Header: c.header, Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}}
			r := &http.Request{RemoteAddr: c.peer, Header: http.Header{c.header: c.sent}}
			if c.sent == nil {
				r.Header = http.Header{}
			}
			if c.also != "" {
				other := map[string]string{header: rfc, rfc: header}[c.header]
				r.Header.Set(other, c.also)
			}
			got, want := p.Visitor(r), limit.Visitor{Addr: netip.MustParseAddr(c.want), Proxy: c.proxy, Known: c.known}
			if got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

// A request without a valid address has no Visitor.
func TestVisitorWithoutAddress(t *testing.T) {
	t.Parallel()
	if got := (limit.Proxies{}).Visitor(&http.Request{RemoteAddr: "pipe"}); got != (limit.Visitor{}) {
		t.Errorf("%+v", got)
	}
}
