package pgproxy

import (
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
)

// treatment is what happens to the answer to an exchange. The zero value passes it on.
type treatment struct {
	discard bool            // Nothing is passed on, and the connection is cut at the end.
	stall   bool            // The answer is withheld until the channel is closed.
	until   <-chan struct{} // A nil channel means never.

	// injected replaces the error that the marker causes; nil if there is none.
	injected *pgproto3.ErrorResponse
	// If hide is set, everything between the answers to the first keep messages and the
	// error is left out: the client must not see the statements that the proxy added.
	hide bool
	keep int
	// hideComplete is the number of the CommandComplete that is left out, from 1: a simple
	// query that fails at its commit has no CommandComplete for its last statement. Zero means
	// that all are passed on.
	hideComplete int
}

// progress is how much of the answer to an exchange has arrived.
type progress struct {
	answered  int // Messages with an answer.
	completed int // CommandCompletes among the answers.
}

// answers passes on what the server sends until it ends.
func (c *conn) answers() {
	var at progress
	for {
		msg, err := c.server.Receive()
		if err != nil {
			return
		}
		t := c.treatment.Load()
		if t == nil {
			t = &treatment{}
		}
		if msg = c.treat(msg, t, &at); msg != nil && !t.discard {
			c.client.Send(msg)
		}
		if ready, ok := msg.(*pgproto3.ReadyForQuery); ok {
			c.finish(t, ready.TxStatus)
			at = progress{}
		} else if !t.stall && c.server.ReadBufferLen() == 0 {
			c.flush()
		}
	}
}

// treat returns what the client gets instead of a message; nil means nothing.
func (c *conn) treat(msg pgproto3.BackendMessage, t *treatment, at *progress) pgproto3.BackendMessage {
	switch m := msg.(type) {
	case *pgproto3.NotificationResponse:
		drop := c.p.dropNotes.Load()
		c.p.notes.Add(1) // Last, so that a test that sees the number may change the setting.
		if drop {
			return nil
		}
		return msg
	case *pgproto3.ReadyForQuery, *pgproto3.ParameterStatus:
		return msg
	case *pgproto3.ErrorResponse:
		if t.injected != nil && strings.Contains(m.Message, marker) {
			return t.injected
		}
		return msg
	}
	hidden := t.hide && at.answered >= t.keep
	if isAnswer(msg) {
		at.answered++
	}
	if _, ok := msg.(*pgproto3.CommandComplete); ok {
		at.completed++
		hidden = hidden || at.completed == t.hideComplete
	}
	if hidden {
		return nil
	}
	return msg
}

// isAnswer reports whether a message of the server is the one that every message of the
// extended protocol has exactly one of.
func isAnswer(msg pgproto3.BackendMessage) bool {
	switch msg.(type) {
	case *pgproto3.ParseComplete, *pgproto3.BindComplete, *pgproto3.CloseComplete,
		*pgproto3.RowDescription, *pgproto3.NoData,
		*pgproto3.CommandComplete, *pgproto3.EmptyQueryResponse, *pgproto3.PortalSuspended:
		return true
	}
	return false
}

// finish ends an exchange.
func (c *conn) finish(t *treatment, status byte) {
	if t.stall {
		select {
		case <-t.until:
		case <-c.ended:
		}
	}
	if t.discard {
		c.cut()
	}
	c.treatment.Store(nil)
	c.flush()
	c.ready <- status
}

// flush writes the client's messages. The proxy still reads the server's answers if the
// client is gone.
func (c *conn) flush() {
	if c.client.Flush() != nil {
		c.cut()
	}
}
