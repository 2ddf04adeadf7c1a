package pgproxy

import (
	"io"

	"github.com/jackc/pgx/v5/pgproto3"
)

// start passes on the messages before the first exchange, and reports whether there may be
// one. Here client and server take turns, so one goroutine is enough.
func (c *conn) start() bool {
	for {
		msg, err := c.client.ReceiveStartupMessage()
		if err != nil {
			return false
		}
		switch m := msg.(type) {
		case *pgproto3.SSLRequest, *pgproto3.GSSEncRequest:
			if _, err := c.clientConn.Write([]byte{'N'}); err != nil {
				return false
			}
		case *pgproto3.CancelRequest:
			// The end of the connection is the only answer, and the client waits for it.
			if !c.p.isCut(m.ProcessID) && c.send(m) {
				_, _ = io.Copy(io.Discard, c.serverConn)
				c.p.cancels.Add(1)
			}
			return false
		default:
			c.p.mu.Lock()
			c.p.lastConn++
			c.number = c.p.lastConn
			c.p.mu.Unlock()
			return c.send(m) && c.authenticate()
		}
	}
}

func (c *conn) authenticate() bool {
	for {
		msg, err := c.server.Receive()
		if err != nil {
			return false
		}
		c.client.Send(msg)
		if c.server.ReadBufferLen() == 0 && c.client.Flush() != nil {
			return false
		}
		switch m := msg.(type) {
		case *pgproto3.BackendKeyData:
			c.pid.Store(m.ProcessID)
		case *pgproto3.ReadyForQuery:
			return c.client.Flush() == nil
		case *pgproto3.AuthenticationCleartextPassword, *pgproto3.AuthenticationMD5Password,
			*pgproto3.AuthenticationSASL, *pgproto3.AuthenticationSASLContinue:
			// The kind of an answer follows from the question.
			if c.client.SetAuthType(c.server.GetAuthType()) != nil {
				return false
			}
			answer, err := c.client.Receive()
			if err != nil || !c.send(answer) {
				return false
			}
		}
	}
}

// isCut reports whether a cancel request comes from a client that was cut off. A client like
// pgx sends one when its connection breaks. It could arrive at the server before the server
// is done with the exchange, and the outcome of a cut would be random.
func (p *Proxy) isCut(pid uint32) bool {
	for _, c := range p.present() {
		if c.pid.Load() != pid {
			continue
		}
		select {
		case <-c.ended:
			return true
		default:
		}
	}
	return false
}
