package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/calldibs/dibs/internal/wire"
)

const (
	maxAnswer     = 64 << 10 // bytes of a response body that are read, so that the connection can be reused
	maxHeader     = 64 << 10
	maxRetryAfter = time.Hour
)

// Attempt is one attempt to deliver.
type Attempt struct {
	At   time.Time
	Took time.Duration
	// Status is the receiver's HTTP status; zero if there was no response.
	Status int
	// Error says why it failed; empty after success. It contains no part of the response
	// body, and no address.
	Error string

	retryAfter time.Duration // as the receiver asked
}

// Delivered reports whether the receiver accepted the message.
func (a Attempt) Delivered() bool { return a.Error == "" }

// gone reports whether the receiver wants no more messages.
func (a Attempt) gone() bool { return a.Status == http.StatusGone }

// Wire returns the attempt as the API shows it.
func (a Attempt) Wire() wire.WebhookAttempt {
	return wire.WebhookAttempt{
		Delivered: a.Delivered(), At: wire.FormatTime(a.At), TookMs: a.Took.Milliseconds(), Status: a.Status, Error: a.Error,
	}
}

func (a Attempt) ended() time.Time { return a.At.Add(a.Took) }

func newClient(guard *Guard) *http.Client {
	return &http.Client{
		// No proxy: the guard must check the receiver's own address.
		Transport: &http.Transport{
			DialContext:       (&net.Dialer{Timeout: 10 * time.Second, Control: guard.Check}).DialContext,
			ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
			MaxIdleConns: 200, MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute,
			MaxResponseHeaderBytes: maxHeader, DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// attempt sends a message once. A failure is in [Attempt.Error].
func (s *Service) attempt(ctx context.Context, hook *Hook, m message) Attempt {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	a := Attempt{At: time.Now()}
	res, err := s.post(ctx, hook, m, a.At)
	if err == nil {
		// The body does not matter. A longer one only costs the connection.
		_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxAnswer))
		_ = res.Body.Close()
		a.Status = res.StatusCode
		if res.StatusCode == http.StatusTooManyRequests || res.StatusCode == http.StatusServiceUnavailable {
			a.retryAfter = min(wire.RetryAfter(res.Header), maxRetryAfter)
		}
	}
	a.Took = time.Since(a.At)
	a.Error = s.explain(a.Status, err)
	return a
}

func (s *Service) post(ctx context.Context, hook *Hook, m message, at time.Time) (*http.Response, error) {
	signature, err := sign(hook.Secrets, m.id, at, m.body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, hook.URL, bytes.NewReader(m.body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", envelopeType)
	req.Header.Set("User-Agent", "Dibs-Webhooks")
	req.Header.Set(standardwebhooks.HeaderWebhookID, m.id)
	req.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	req.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	return s.client.Do(req)
}

// explain says why a delivery failed, without revealing anything about the server's network.
func (s *Service) explain(status int, err error) string {
	var timeout net.Error
	var lookup *net.DNSError
	var badCert *tls.CertificateVerificationError
	switch {
	case err == nil && status >= 200 && status < 300:
		return ""
	case err == nil && status >= 300 && status < 400:
		return fmt.Sprintf("the receiver answered %d: redirects are not followed; change the webhook's url", status)
	case err == nil:
		return fmt.Sprintf("the receiver answered %d", status)
	case errors.Is(err, errForbidden), errors.As(err, &lookup): // one text for both: it must not reveal which internal names exist
		return "the receiver's host name could not be looked up, or its address is not public and allowPrefixes in the server's configuration does not allow it"
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("the receiver did not answer within %s", s.cfg.Timeout)
	case errors.Is(err, context.Canceled):
		return "the server stopped before the receiver answered"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the receiver refused the connection"
	case errors.As(err, &badCert):
		return "the receiver's certificate is not valid"
	default:
		return "the connection to the receiver failed"
	}
}

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
