package config

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/calldibs/dibs/internal/limit"
	"github.com/calldibs/dibs/internal/tracing"
	"github.com/calldibs/dibs/internal/webhook"
)

// Webhooks configures webhooks.
type Webhooks struct {
	// Enabled turns webhooks on.
	Enabled bool
	// Targets are the webhooks that the file declares, beside those that callers make.
	Targets []Target
	// The rest is documented there. Registry, Store, Logger and Observer are not set.
	webhook.Config
}

func defaultWebhooks() Webhooks {
	return Webhooks{
		Enabled: true,
		Config: webhook.Config{
			Timeout: 10 * time.Second, Pauses: webhook.DefaultPauses(), GiveUpAfter: 3 * day, Concurrency: 4, Source: webhook.DefaultSource,
		},
	}
}

const maxPauses = 50

// readWebhooks reads [webhooks].
func (l *loader) readWebhooks(s *section) {
	w := &l.config.Webhooks
	s.boolean("enabled", &w.Enabled)
	s.within("timeout", 100*time.Millisecond, time.Minute, &w.Timeout)
	if list, ok := s.values["pauses"].([]any); ok && (len(list) == 0 || len(list) > maxPauses) {
		s.report("pauses", "has %d pauses; it must have 1 to %d", len(list), maxPauses)
	}
	if pauses := parseEach(s, "pauses", parsePause); pauses != nil {
		w.Pauses = pauses
	}
	s.atLeast("giveUpAfter", time.Second, &w.GiveUpAfter)
	s.count("concurrency", 1, 64, &w.Concurrency)
	w.AllowPrefixes = parseEach(s, "allowPrefixes", parseNetwork)
	if s.text("source", &w.Source) {
		if _, err := url.Parse(w.Source); err != nil || w.Source == "" {
			s.report("source", `must be a URI, like "urn:dibs" or "https://names.example.com"`)
		}
	}
	l.readTargets(s)
	s.finish()
}

func parsePause(text string) (time.Duration, error) {
	pause, err := parseDuration(text)
	if err == nil && (pause < 10*time.Millisecond || pause > 30*day) {
		err = fmt.Errorf("is %s; it must be between 10ms and 30d", formatDuration(pause))
	}
	return pause, err
}

func parseNetwork(text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return prefix, fmt.Errorf(`invalid network %q: write "10.0.0.0/8", "127.0.0.1/32" or "fd00::/8"`, text)
	}
	return prefix.Masked(), nil
}

// readTracing reads [tracing]. It does not open the file of headers: a command that needs only
// the policies may lack the permission.
func (l *loader) readTracing(s *section) {
	c := &l.config.Tracing
	s.text("endpoint", &c.Endpoint)
	checkValue(s, "sample", &c.Sample, between(0.0, 1))
	s.text("serviceName", &c.ServiceName)
	headers := s.table("headers")
	if len(headers.values) > 0 {
		c.Headers = make(map[string]string)
	}
	for name := range headers.values {
		var value string
		if headers.text(name, &value) {
			c.Headers[name] = value
		}
	}
	s.filePath("headersFile", &c.HeadersFile)
	s.finish()
	if err := tracing.CheckEndpoint(c.Endpoint); err != nil && c.Endpoint != "" {
		s.report("endpoint", "%v", err)
	}
	if c.ServiceName == "" {
		s.report("serviceName", "is empty: set a name, or remove the setting")
	}
}

// readLimits reads [limits].
func (l *loader) readLimits(s *section) {
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
	c.Proxies.Trusted = parseEach(s, "trustedProxies", parseProxy)
	if header := ""; s.text("forwardedHeader", &header) {
		c.Proxies.Header = http.CanonicalHeaderKey(header)
		if oneOf(limit.XForwardedFor, limit.Forwarded)(c.Proxies.Header) != nil {
			s.report("forwardedHeader", "is %q; it must be %q or %q", header, limit.XForwardedFor, limit.Forwarded)
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

// parseProxy parses an address or a network.
func parseProxy(text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	if addr, notAddr := netip.ParseAddr(text); notAddr == nil {
		prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	switch {
	case err != nil:
		return prefix, fmt.Errorf(`%q is neither an address nor a network: write "10.0.0.7" or "10.0.0.0/8"`, text)
	case prefix.Bits() == 0:
		return prefix, errors.New("covers all addresses, so any caller could forge its address: list only the proxies")
	}
	return prefix.Masked(), nil
}
