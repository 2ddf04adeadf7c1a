package peer_test

import (
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/calldibs/dibs/internal/peer"
)

// asNobody runs a function as the user nobody, on a thread that ends with it: on Linux a
// user id belongs to a thread.
func asNobody(t *testing.T, do func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked, so that the thread ends with the goroutine
		const nobody = 65534
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
			t.Error(errno)
			return
		}
		do()
	}()
	<-done
}

func TestOfAnotherUser(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listener.Close() })
		dial := func() (client net.Conn) {
			if client, err = net.Dial("tcp", listener.Addr().String()); err != nil {
				t.Error(err)
			}
			return client
		}
		own := dial()
		var others net.Conn
		asNobody(t, func() { others = dial() })
		for _, c := range []struct {
			client net.Conn
			want   bool
		}{{own, false}, {others, true}} {
			defer func() { _ = c.client.Close() }()
			server, err := listener.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = server.Close() }()
			if got := peer.OfAnotherUser(server.LocalAddr(), server.RemoteAddr()); got != c.want {
				t.Errorf("%s: of another user: %v, want %v", address, got, c.want)
			}
		}
	}
}

func TestUnknownPeers(t *testing.T) {
	t.Parallel()
	here := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
	for _, remote := range []net.Addr{&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 2}, &net.UnixAddr{Name: "x"}, nil} {
		if peer.OfAnotherUser(here, remote) {
			t.Errorf("%v counts as another user", remote)
		}
	}
}

func BenchmarkOfAnotherUser(b *testing.B) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	for b.Loop() {
		peer.OfAnotherUser(client.RemoteAddr(), client.LocalAddr())
	}
}
