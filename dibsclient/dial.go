package dibsclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/calldibs/dibs"
)

// What the zero Options mean.
const (
	DefaultTimeout   = 10 * time.Second
	DefaultRetries   = 3
	DefaultUserAgent = "dibsclient"
)

// Options say how to reach a server. The zero Options are good ones: each field says
// what its zero value means.
type Options struct {
	// Key is the API key. Empty means that none is sent.
	Key string
	// Token returns what to send in place of an API key, such as a token of an OpenID
	// Connect issuer. It is called for each attempt, from several goroutines at once: let it
	// keep a token until that is nearly over. Nil means that Key is sent.
	Token func(context.Context) (string, error)
	// TLS is how to speak to a server at https://: which authorities to trust, and which
	// client certificate to show. Nil means the authorities of this machine, and none. With
	// an HTTPClient it must be nil: that has its own.
	TLS *tls.Config
	// HTTPClient sends the requests. Nil means one of the Registry's own, which keeps
	// connections open and speaks HTTP/1.1 and HTTP/2. Redirects are never followed.
	HTTPClient *http.Client
	// Timeout is how long one attempt may take, apart from Sweep, Forget and Recanonicalize,
	// which take as long as they take. Zero means 10 seconds.
	Timeout time.Duration
	// Retries is how often a call is repeated where that is safe. Zero means 3, a
	// negative number never.
	Retries int
	// UserAgent is what the server sees. Empty means "dibsclient".
	UserAgent string
	// Logger is told about attempts that are repeated. Nil means nobody is told.
	Logger *slog.Logger
}

// Dial returns a Registry whose names are kept by the server at this address, such as
// https://names.example.com. It checks the address and the options and does not connect
// yet. Close the Registry when it is no longer needed.
func Dial(address string, options Options) (*dibs.Registry, error) {
	c, err := newClient(address, options)
	if err != nil {
		return nil, err
	}
	return dibs.NewRegistry(c), nil
}

// parseBase reads the address of a server. The address is no part of any error: a
// password may be in it.
func parseBase(address string) (string, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return "", errors.New("dibs: the server's address is not a URL: it looks like https://names.example.com")
	case u.Scheme != "http" && u.Scheme != "https":
		return "", errors.New("dibs: the server's address must begin with http:// or https://")
	case u.Hostname() == "":
		return "", errors.New("dibs: the server's address has no host: it looks like https://names.example.com")
	case u.User != nil:
		return "", errors.New("dibs: the server's address must not have a user or a password: set Options.Key instead")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", errors.New("dibs: the server's address must end with its path, without ? and #")
	}
	return u.Scheme + "://" + u.Host + strings.TrimRight(u.EscapedPath(), "/"), nil
}

// withDefaults returns the options with every zero field filled in.
func (o Options) withDefaults() (Options, error) {
	for _, field := range []struct{ name, text string }{{"Key", o.Key}, {"UserAgent", o.UserAgent}} {
		if notVisible(field.text) {
			return o, fmt.Errorf("dibs: Options.%s has a character that is not visible ASCII", field.name)
		}
	}
	switch {
	case o.Key != "" && o.Token != nil:
		return o, errors.New("dibs: Options.Key and Options.Token are both set: only one of them can be sent")
	case o.TLS != nil && o.HTTPClient != nil:
		return o, errors.New("dibs: Options.TLS and Options.HTTPClient are both set: set TLSClientConfig in the transport of the client instead")
	}
	switch {
	case o.Timeout < 0:
		return o, fmt.Errorf("dibs: Options.Timeout is %v, it must not be negative", o.Timeout)
	case o.Timeout == 0:
		o.Timeout = DefaultTimeout
	}
	switch {
	case o.Retries < 0:
		o.Retries = 0
	case o.Retries == 0:
		o.Retries = DefaultRetries
	}
	if o.UserAgent == "" {
		o.UserAgent = DefaultUserAgent
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// notVisible reports whether a text has something in it that no header may have.
func notVisible(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

// newTransport returns a transport for many calls at once to one server.
func newTransport() *http.Transport {
	const connections = 256
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   5 * time.Second,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          connections,
		MaxIdleConnsPerHost:   connections,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}
