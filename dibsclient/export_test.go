package dibsclient

import (
	"time"

	"github.com/calldibs/dibs"
)

// Limits are what tests make smaller; zero leaves them as they are.
type Limits struct {
	MaxAnswer                        int64
	Patience, MaxSilence, FirstPause time.Duration
}

// DialWithin is Dial with other limits.
func DialWithin(address string, options Options, limits Limits) (*dibs.Registry, error) {
	c, err := newClient(address, options)
	if err != nil {
		return nil, err
	}
	if limits.MaxAnswer > 0 {
		c.maxAnswer = limits.MaxAnswer
	}
	if limits.Patience > 0 {
		c.patience = limits.Patience
	}
	if limits.MaxSilence > 0 {
		c.maxSilence = limits.MaxSilence
	}
	if limits.FirstPause > 0 {
		c.firstPause = limits.FirstPause
	}
	return dibs.NewRegistry(c), nil
}
