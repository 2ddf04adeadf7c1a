package dibsclient

import (
	"cmp"
	"time"

	"github.com/calldibs/dibs"
)

// Limits are limits that tests lower; zero means the default.
type Limits struct {
	MaxResponse                                 int64
	ReconnectTimeout, IdleTimeout, FirstBackoff time.Duration
}

// DialWithLimits is Dial with other limits.
func DialWithLimits(address string, options Options, limits Limits) (*dibs.Registry, error) {
	c, err := newClient(address, options)
	if err != nil {
		return nil, err
	}
	c.maxResponse = cmp.Or(limits.MaxResponse, c.maxResponse)
	c.reconnectTimeout = cmp.Or(limits.ReconnectTimeout, c.reconnectTimeout)
	c.idleTimeout = cmp.Or(limits.IdleTimeout, c.idleTimeout)
	c.firstBackoff = cmp.Or(limits.FirstBackoff, c.firstBackoff)
	return dibs.NewRegistry(c), nil
}
