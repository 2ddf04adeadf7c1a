package dibsclient

import (
	"cmp"
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

// The values of the zero Options.
const (
	DefaultTimeout   = 10 * time.Second
	DefaultRetries   = 3
	DefaultUserAgent = "dibsclient"
)

// Options configure the connection to a server. The zero Options are ready to use: each
// field states what its zero value means.
type Options struct {
	// Key is the API key. Empty means that none is sent.
	Key string
	// Token returns a token to send instead of an API key, such as one of an OpenID Connect
	// issuer. It is called for each attempt, from several goroutines at once: it should
	// cache a token until shortly before that expires. Nil means that Key is sent.
	Token func(context.Context) (string, error)
	// TLS configures connections to https://: trusted authorities and a client certificate.
	// Nil means the authorities of this machine and no certificate. It must be nil with an
	// HTTPClient, which has its own.
	TLS *tls.Config
	// HTTPClient sends the requests. Nil means a client of the Registry's own, which keeps
	// connections open and uses HTTP/1.1 and HTTP/2. Redirects are never followed.
	HTTPClient *http.Client
	// Timeout limits each attempt, except for Sweep, Forget and Recanonicalize, which have
	// no limit. Zero means 10 seconds.
	Timeout time.Duration
	// Retries is how often a call is repeated at most, where that is safe. Zero means 3,
	// a negative number means never.
	Retries int
	// UserAgent is the User-Agent header. Empty means "dibsclient".
	UserAgent string
	// Logger logs retries, at the debug level. Nil means no logging.
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

// parseBase checks the address of a server. Its errors leave the address out, since that
// may contain a password.
func parseBase(address string) (string, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return "", errors.New("dibs: the server's address is not a URL; example: https://names.example.com")
	case u.Scheme != "http" && u.Scheme != "https":
		return "", errors.New("dibs: the server's address must begin with http:// or https://")
	case u.Hostname() == "":
		return "", errors.New("dibs: the server's address has no host; example: https://names.example.com")
	case u.User != nil:
		return "", errors.New("dibs: the server's address must not contain a user or password: set Options.Key instead")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", errors.New("dibs: the server's address must end with its path, without ? and #")
	}
	return u.Scheme + "://" + u.Host + strings.TrimRight(u.EscapedPath(), "/"), nil
}

// withDefaults checks the options and returns them with every zero field filled in.
func (o Options) withDefaults() (Options, error) {
	switch {
	case notVisible(o.Key):
		return o, errors.New("dibs: Options.Key contains a character that is not visible ASCII")
	case notVisible(o.UserAgent):
		return o, errors.New("dibs: Options.UserAgent contains a character that is not visible ASCII")
	case o.Key != "" && o.Token != nil:
		return o, errors.New("dibs: Options.Key and Options.Token are both set: only one of them can be sent")
	case o.TLS != nil && o.HTTPClient != nil:
		return o, errors.New("dibs: Options.TLS and Options.HTTPClient are both set: set TLSClientConfig in the transport of the client instead")
	case o.Timeout < 0:
		return o, fmt.Errorf("dibs: Options.Timeout is %v, it must not be negative", o.Timeout)
	}
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.Retries = cmp.Or(o.Retries, DefaultRetries)
	o.UserAgent = cmp.Or(o.UserAgent, DefaultUserAgent)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o, nil
}

// notVisible reports whether a text contains a character that a header must not have.
func notVisible(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

// newTransport returns a transport for many concurrent calls to one server.
func newTransport(config *tls.Config) *http.Transport {
	const connections = 256
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:       config,
		TLSHandshakeTimeout:   5 * time.Second,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          connections,
		MaxIdleConnsPerHost:   connections,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}

// Limits that tests lower.
const (
	maxResponse      = 64 << 20         // bytes of a response
	reconnectTimeout = 30 * time.Second // for a watcher to reach the server again
	idleTimeout      = time.Minute      // for a stream without any data, heartbeats included
)

// client is the [dibs.Backend] that calls a server.
type client struct {
	base    string // the server's URL, without a slash at the end
	options Options
	http    *http.Client
	streams streamPool

	closed context.Context // ends with Close
	close  context.CancelFunc

	maxResponse      int64
	reconnectTimeout time.Duration
	idleTimeout      time.Duration
	firstBackoff     time.Duration
}

func newClient(address string, options Options) (*client, error) {
	base, err := parseBase(address)
	if err != nil {
		return nil, err
	}
	if options, err = options.withDefaults(); err != nil {
		return nil, err
	}
	c := &client{
		base: base, options: options, http: new(http.Client),
		maxResponse: maxResponse, reconnectTimeout: reconnectTimeout, idleTimeout: idleTimeout, firstBackoff: firstBackoff,
	}
	c.closed, c.close = context.WithCancel(context.Background())
	if options.HTTPClient != nil {
		*c.http = *options.HTTPClient
	} else {
		c.http.Transport = newTransport(options.TLS.Clone()) // nil for nil
	}
	// A redirect is the server's answer to Resolve, and a key must not go elsewhere.
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c, nil
}

// Close ends all streams. Later calls return UNAVAILABLE.
func (c *client) Close() error {
	c.close()
	if c.options.HTTPClient == nil {
		c.http.CloseIdleConnections()
	}
	return nil
}
