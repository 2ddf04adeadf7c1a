// Package peer finds out which user of this machine is at the other end of a connection.
package peer

import (
	"net"
	"net/netip"
	"os"
)

// OfAnotherUser reports whether the process at the other end of a TCP connection is known
// to belong to another user than this process. The user of a process on another machine,
// or on a system other than Linux, is not known.
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
