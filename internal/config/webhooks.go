package config

import (
	"net/netip"
	"net/url"
	"time"

	"github.com/calldibs/dibs/internal/webhook"
)

// Webhooks configures webhooks.
type Webhooks struct {
	// Enabled turns webhooks on.
	Enabled bool
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

// readWebhooks reads the table of webhooks, if there is one.
func (l *loader) readWebhooks(s *section) {
	if s == nil {
		return
	}
	w := &l.config.Webhooks
	s.boolean("enabled", &w.Enabled)
	s.atLeast("timeout", 100*time.Millisecond, &w.Timeout)
	if w.Timeout > time.Minute {
		s.report("timeout", "is %s; it must be at most 1m", formatDuration(w.Timeout))
	}
	s.pauses("pauses", &w.Pauses)
	s.atLeast("giveUpAfter", time.Second, &w.GiveUpAfter)
	s.count("concurrency", 1, 64, &w.Concurrency)
	s.prefixes("allowPrefixes", &w.AllowPrefixes)
	if s.text("source", &w.Source) {
		if _, err := url.Parse(w.Source); err != nil || w.Source == "" {
			s.report("source", `must be a URI, like "urn:dibs" or "https://names.example.com"`)
		}
	}
	s.finish()
}

// pauses reads a list of durations.
func (s *section) pauses(key string, into *[]time.Duration) {
	texts := s.list(key)
	if texts == nil {
		return
	}
	if len(texts) == 0 || len(texts) > maxPauses {
		s.report(key, "has %d pauses; it must have 1 to %d", len(texts), maxPauses)
		return
	}
	pauses := make([]time.Duration, len(texts))
	for i, text := range texts {
		pause, err := parseDuration(text)
		switch {
		case err != nil:
			s.reportElement(key, i, "%v", err)
		case pause < 10*time.Millisecond || pause > 30*day:
			s.reportElement(key, i, "is %s; it must be between 10ms and 30d", formatDuration(pause))
		}
		pauses[i] = pause
	}
	*into = pauses
}

// prefixes reads a list of networks.
func (s *section) prefixes(key string, into *[]netip.Prefix) {
	for i, text := range s.list(key) {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			s.reportElement(key, i, `invalid network %q: write "10.0.0.0/8", "127.0.0.1/32" or "fd00::/8"`, text)
			continue
		}
		*into = append(*into, prefix.Masked())
	}
}
