package torture

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// link is the network between callers and a server, or between members of an engine.
type link struct {
	listener net.Listener
	identify func(first []byte) (caller string) // by the first bytes of a connection; nil means not
	target   atomic.Pointer[string]
	trouble  atomic.Pointer[trouble]
	running  sync.WaitGroup

	mu     sync.Mutex
	closed bool
	conns  map[net.Conn]struct{}
}

// trouble is what a link does to connections. The zero value does nothing.
type trouble struct {
	caller     string        // only connections of this one are disturbed; empty means all
	refuse     bool          // new connections are closed at once
	noRequests bool          // what callers send does not arrive
	noAnswers  bool          // what the server sends does not arrive
	delay      time.Duration // of each piece, both ways
	loss       float64       // the share of pieces that are lost, both ways
	felt       *atomic.Bool  // becomes true when a piece is lost; nil means that it does not matter
}

// A lost packet makes TCP wait and send it again. A connection on which too many are lost breaks.
const (
	retransmission = 200 * time.Millisecond
	lossesToBreak  = 10 // on average
)

// wait takes the time that a piece needs, and reports whether its connection still holds.
func (t *trouble) wait() bool {
	time.Sleep(t.delay)
	if t.loss == 0 || rand.Float64() >= t.loss {
		return true
	}
	t.feel()
	time.Sleep(retransmission)
	return rand.IntN(lossesToBreak) > 0
}

func (t *trouble) feel() {
	if t.felt != nil {
		t.felt.Store(true)
	}
}

func newLink(target string) (*link, error) { return newMemberLink(target, nil) }

// newMemberLink is a link that tells its callers apart.
func newMemberLink(target string, identify func(first []byte) (caller string)) (*link, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &link{listener: listener, identify: identify, conns: make(map[net.Conn]struct{})}
	l.lead(target)
	l.trouble.Store(&trouble{})
	l.running.Go(l.accept)
	return l, nil
}

// address is what callers connect to.
func (l *link) address() string { return l.listener.Addr().String() }

// lead makes new connections lead to another address.
func (l *link) lead(target string) { l.target.Store(&target) }

// disturb makes trouble until the function that it returns is called. Connections that have lost something are cut
// then: it cannot be sent again.
func (l *link) disturb(t trouble) (end func()) {
	l.trouble.Store(&t)
	if t.refuse {
		l.cut()
	}
	return func() {
		l.trouble.Store(&trouble{})
		if t.noRequests || t.noAnswers {
			l.cut()
		}
	}
}

// cut closes all connections.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		_ = c.Close()
	}
}

func (l *link) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	_ = l.listener.Close()
	l.cut()
	l.running.Wait()
}

func (l *link) accept() {
	for {
		caller, err := l.listener.Accept()
		if err != nil {
			return
		}
		if l.trouble.Load().refuse {
			_ = caller.Close()
			continue
		}
		l.running.Go(func() { l.connect(caller) })
	}
}

func (l *link) connect(caller net.Conn) {
	server, err := net.Dial("tcp", *l.target.Load())
	if err != nil {
		_ = caller.Close()
		return
	}
	defer l.drop(caller, server)
	if !l.keep(caller, server) {
		return
	}
	var name atomic.Value // of the caller, once it has sent something
	l.running.Go(func() {
		defer l.drop(caller, server)
		l.pump(caller, server, func([]byte) any { return name.Load() }, func(t *trouble) bool { return t.noAnswers })
	})
	l.pump(server, caller, func(piece []byte) any {
		if l.identify != nil {
			name.CompareAndSwap(nil, l.identify(piece))
		}
		return name.Load()
	}, func(t *trouble) bool { return t.noRequests })
}

// pump copies what arrives until a side closes, or too much is lost. Behind a piece that was lost nothing arrives any more: the
// reader would not notice the gap, if it is a whole message.
func (l *link) pump(to io.Writer, from io.Reader, caller func(piece []byte) any, lost func(*trouble) bool) {
	buffer, hasLost := make([]byte, 32<<10), false
	for {
		n, err := from.Read(buffer)
		t := l.trouble.Load()
		if name := caller(buffer[:n]); t.caller != "" && t.caller != name {
			t = &trouble{}
		}
		if !t.wait() {
			return
		}
		switch {
		case n == 0:
		case lost(t):
			hasLost = true
			t.feel()
		case hasLost:
			return // the trouble is over
		default:
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (l *link) keep(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		l.conns[c] = struct{}{}
	}
	return !l.closed
}

// drop closes connections, which ends both directions. It may be called twice.
func (l *link) drop(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
		delete(l.conns, c)
	}
}
