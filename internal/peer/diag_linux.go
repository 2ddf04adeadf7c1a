package peer

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"syscall"
)

// The kernel's sock_diag(7) returns the owner of the socket with two given addresses.
// Package syscall has the netlink header, but not these messages.
const (
	netlinkSockDiag         = 4
	sockDiagByFamily        = 20
	diagRequestSize         = 8 + sockIDSize
	sockIDSize              = 48
	uidOffset               = 4 + sockIDSize + 12 // after the id, expires, rqueue and wqueue
	allStates               = 0xffffffff
	noCookie         uint32 = 0xffffffff
)

var errNoAnswer = errors.New("peer: the kernel does not know the socket")

// userOf returns the user that owns the socket with an address, connected to another address.
func userOf(socket, connectedTo netip.AddrPort) (uid uint32, err error) {
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, netlinkSockDiag)
	if err != nil {
		return 0, err
	}
	defer func() { _ = syscall.Close(fd) }() // no data is lost
	// The kernel answers at once; the timeout only guards against a lost answer.
	if err := syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &syscall.Timeval{Sec: 1}); err != nil {
		return 0, err
	}
	if err := syscall.Sendto(fd, diagRequest(socket, connectedTo), 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		return 0, err
	}
	answer := make([]byte, 4096)
	n, _, err := syscall.Recvfrom(fd, answer, 0)
	if err != nil {
		return 0, err
	}
	messages, err := syscall.ParseNetlinkMessage(answer[:n])
	if err != nil {
		return 0, err
	}
	for _, m := range messages {
		if m.Header.Type == sockDiagByFamily && len(m.Data) >= uidOffset+4 {
			return binary.NativeEndian.Uint32(m.Data[uidOffset:]), nil
		}
	}
	return 0, errNoAnswer
}

// diagRequest returns a request for one socket, the kernel's struct inet_diag_req_v2.
func diagRequest(socket, connectedTo netip.AddrPort) []byte {
	const size = syscall.NLMSG_HDRLEN + diagRequestSize
	b := make([]byte, 0, size)
	b = binary.NativeEndian.AppendUint32(b, size)
	b = binary.NativeEndian.AppendUint16(b, sockDiagByFamily)
	b = binary.NativeEndian.AppendUint16(b, syscall.NLM_F_REQUEST)
	b = append(b, make([]byte, 8)...) // sequence number and sender
	family := byte(syscall.AF_INET6)
	if socket.Addr().Is4() {
		family = syscall.AF_INET
	}
	b = append(b, family, syscall.IPPROTO_TCP, 0, 0)
	b = binary.NativeEndian.AppendUint32(b, allStates)
	b = binary.BigEndian.AppendUint16(b, socket.Port())
	b = binary.BigEndian.AppendUint16(b, connectedTo.Port())
	for _, addr := range []netip.Addr{socket.Addr(), connectedTo.Addr()} {
		var field [16]byte
		copy(field[:], addr.AsSlice())
		b = append(b, field[:]...)
	}
	b = binary.NativeEndian.AppendUint32(b, 0) // any interface
	b = binary.NativeEndian.AppendUint32(b, noCookie)
	return binary.NativeEndian.AppendUint32(b, noCookie)
}
