package config

import (
	"net/netip"
	"strings"
	"time"

	"github.com/calldibs/dibs/internal/limit"
)

// readLimits reads [limits].
func (l *loader) readLimits(s *section) {
	if s == nil {
		return
	}
	c := &l.config.Limits
	s.rate("reads", limit.LeastReads, &c.Reads)
	s.rate("writes", limit.LeastWrites, &c.Writes)
	s.rate("checks", limit.LeastChecks, &c.Checks)
	s.rate("perAddress", 1, &c.PerAddress)
	s.rate("signIn", 1, &c.SignIn)
	const most = 1_000_000
	s.count("maxInFlight", 0, most, &c.MaxInFlight)
	s.count("maxWaiting", 0, most, &c.MaxWaiting)
	s.atLeast("maxWait", time.Millisecond, &c.MaxWait)
	s.count("maxStreams", 0, most, &c.MaxStreams)
	s.count("callerShare", 1, 100, &c.CallerShare)
	s.count("maxConnections", 0, most, &c.MaxConnections)
	s.proxies("trustedProxies", &c.Proxies.Trusted)
	if s.text("forwardedHeader", &c.Proxies.Header) {
		switch {
		case strings.EqualFold(c.Proxies.Header, limit.XForwardedFor):
			c.Proxies.Header = limit.XForwardedFor
		case strings.EqualFold(c.Proxies.Header, limit.Forwarded):
			c.Proxies.Header = limit.Forwarded
		default:
			s.report("forwardedHeader", "is %q; it must be %q or %q", c.Proxies.Header, limit.XForwardedFor, limit.Forwarded)
		}
	}
	s.finish()
}

// rate reads a rate that allows at least the largest single request.
func (s *section) rate(key string, least int, into *limit.Rate) {
	text, ok := take[string](s, key, `a rate like "500/s" or "10/m", or "off"`)
	if !ok {
		return
	}
	r, err := limit.ParseRate(text)
	switch {
	case err != nil:
		s.report(key, "%v", err)
	case !r.Off() && r.N < least:
		s.report(key, `is %s; it must be at least %d, the cost of the largest request, or "off"`, r, least)
	default:
		*into = r
	}
}

// proxies reads a list of addresses and networks.
func (s *section) proxies(key string, into *[]netip.Prefix) {
	for i, text := range s.list(key) {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			var addr netip.Addr
			if addr, err = netip.ParseAddr(text); err == nil {
				prefix = netip.PrefixFrom(addr, addr.BitLen())
			}
		}
		switch {
		case err != nil:
			s.reportElement(key, i, `%q is neither an address nor a network: write "10.0.0.7" or "10.0.0.0/8"`, text)
		case prefix.Bits() == 0:
			s.reportElement(key, i, "covers all addresses, so any caller could forge its address: list only the proxies")
		default:
			*into = append(*into, prefix.Masked())
		}
	}
}
