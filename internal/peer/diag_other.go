//go:build !linux

package peer

import (
	"errors"
	"net/netip"
)

func userOf(_, _ netip.AddrPort) (uid uint32, err error) { return 0, errors.ErrUnsupported }
