// Package peer tells whose program is at the other end of a connection on this machine.
package peer

import (
	"net"
	"net/netip"
	"os"
)

// OfAnotherUser reports whether it is known that the program at the other end of a TCP
// connection belongs to another user of this machine than this process does. Nothing is
// known of other machines, and on systems other than Linux.
func OfAnotherUser(local, remote net.Addr) bool {
	here, ok := addrPort(local)
	there, ok2 := addrPort(remote)
	if !ok || !ok2 {
		return false
	}
	uid, err := userOf(there, here)
	return err == nil && int(uid) != os.Geteuid()
}

func addrPort(a net.Addr) (netip.AddrPort, bool) {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}, false
	}
	at := tcp.AddrPort()
	return netip.AddrPortFrom(at.Addr().Unmap().WithZone(""), at.Port()), at.IsValid()
}
