package dibsclient

import (
	"context"
	"net/http"
	"time"

	"github.com/calldibs/dibs"
)

const (
	// maxAnswer is how much of an answer is read.
	maxAnswer = 64 << 20
	// feedPatience is how long a watcher tries to get back to the server.
	feedPatience = 30 * time.Second
	// maxSilence is how long a stream may say nothing, not even that it is alive.
	maxSilence = time.Minute
)

// client is the backend that speaks to a server.
type client struct {
	base    string // the server's address, without a slash at the end
	options Options
	http    *http.Client
	own     *http.Transport // nil where the caller brought a client
	streams streams

	closed context.Context // ends with Close
	close  context.CancelFunc

	// What tests make shorter.
	maxAnswer  int64
	patience   time.Duration
	maxSilence time.Duration
	firstPause time.Duration
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
		maxAnswer: maxAnswer, patience: feedPatience, maxSilence: maxSilence, firstPause: firstPause,
	}
	c.closed, c.close = context.WithCancel(context.Background())
	var used http.Client
	if options.HTTPClient != nil {
		used = *options.HTTPClient
	} else {
		c.own = newTransport()
		c.own.TLSClientConfig = options.TLS.Clone() // which is nil for nil
		used.Transport = c.own
	}
	// What a name leads to is answered by redirects; and a key must not go elsewhere.
	used.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &used
	return c, nil
}

// Close ends all streams. Calls that come later are UNAVAILABLE.
func (c *client) Close() error {
	c.close()
	c.streams.closeAll()
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
	return nil
}
