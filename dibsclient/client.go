package dibsclient

import (
	"context"
	"net/http"
	"time"

	"github.com/calldibs/dibs"
)

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
	own     *http.Transport // nil with Options.HTTPClient
	streams streamPool

	closed context.Context // ends with Close
	close  context.CancelFunc

	maxResponse      int64
	reconnectTimeout time.Duration
	idleTimeout      time.Duration
	firstBackoff     time.Duration
}

var _ dibs.Backend = (*client)(nil)

func newClient(address string, options Options) (*client, error) {
	base, err := parseBase(address)
	if err != nil {
		return nil, err
	}
	if options, err = options.withDefaults(); err != nil {
		return nil, err
	}
	c := &client{
		base: base, options: options,
		maxResponse: maxResponse, reconnectTimeout: reconnectTimeout, idleTimeout: idleTimeout, firstBackoff: firstBackoff,
	}
	c.closed, c.close = context.WithCancel(context.Background())
	var used http.Client
	if options.HTTPClient != nil {
		used = *options.HTTPClient
	} else {
		c.own = newTransport()
		c.own.TLSClientConfig = options.TLS.Clone() // nil for nil
		used.Transport = c.own
	}
	// A redirect is the server's answer to Resolve, and a key must not go elsewhere.
	used.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &used
	return c, nil
}

// Close ends all streams. Later calls return UNAVAILABLE.
func (c *client) Close() error {
	c.close()
	c.streams.closeAll()
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
	return nil
}
