package pgproxy

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgproto3"
)

// marker is not SQL. The server refuses it and repeats it in the error message, which
// identifies the error.
const marker = "pgproxy_injected_fault"

// act applies an action to an exchange, and reports whether the connection continues. It
// cannot change what a Flush has already sent.
func (c *conn) act(x *Exchange, a Action) bool {
	switch a.kind {
	case fail:
		if a.statement < 0 || a.statement >= len(x.Statements) {
			c.p.tb.Errorf("pgproxy: Fail(%d) of an exchange with %d statements: %q", a.statement, len(x.Statements), x.Statements)
			return c.pass(treatment{})
		}
		return c.inject(c.stepOf(a.statement), a.code, "injected failure of a statement")
	case failCommit:
		if !x.Commits() {
			return c.pass(treatment{})
		}
		if i := x.lastCommit(); i >= 0 {
			return c.inject(c.stepOf(i), a.code, "injected failure of COMMIT")
		}
		return c.injectAtEnd(a.code, "injected failure of a commit")
	case cutBefore:
		return false
	case cutDuring:
		if end := c.stepOf(a.statement - 1); end >= 0 {
			c.forward(end + 1)
		}
		return false
	case cutAfter:
		return c.pass(treatment{discard: true})
	case stall:
		select {
		case <-a.until:
		case <-c.ended:
			return false
		}
		return c.pass(treatment{})
	case stallAnswer:
		return c.pass(treatment{stall: true, until: a.until})
	default:
		return c.pass(treatment{})
	}
}

// stepOf returns the step that executes the statement with this index: the last executing
// step if there are fewer statements, and -1 if the index is negative.
func (c *conn) stepOf(statement int) int {
	at := -1
	for i, s := range c.steps {
		if s.executes && statement >= 0 {
			at, statement = i, statement-1
		}
	}
	return at
}

// pass sends the rest of an exchange.
func (c *conn) pass(t treatment) bool {
	c.expect(t)
	return c.forward(len(c.steps))
}

// expect sets how to treat the answer, before anything is sent that has an answer.
func (c *conn) expect(t treatment) {
	c.treatment.Store(&t)
	c.busy = true
}

// inject lets the server do the steps before this one, and fail there. A COMMIT is replaced
// by a ROLLBACK, which is the effect of a failed commit.
func (c *conn) inject(at int, code, message string) bool {
	at = max(at, c.sent)
	s := c.steps[at]
	t := treatment{injected: injected(code, message)}
	rollBack := s.executes && hasCommit(s.sql)
	t.hide, t.keep = rollBack, at
	c.expect(t)
	switch {
	case s.simple && rollBack:
		return c.send(&pgproto3.Query{String: "ROLLBACK; SELECT " + marker})
	case s.simple:
		return c.send(&pgproto3.Query{String: marker})
	case !c.forward(at):
		return false
	}
	if rollBack {
		c.server.Send(&pgproto3.Parse{Query: "ROLLBACK"})
		c.server.Send(&pgproto3.Bind{})
		c.server.Send(&pgproto3.Execute{})
	}
	c.server.Send(&pgproto3.Parse{Query: marker})
	return c.send(&pgproto3.Sync{})
}

// injectAtEnd lets the server do all statements, and fail before it commits.
func (c *conn) injectAtEnd(code, message string) bool {
	end := len(c.steps) - 1
	s := c.steps[end]
	if !s.simple {
		return c.inject(end, code, message)
	}
	c.expect(treatment{injected: injected(code, message), hideComplete: len(pieces(s.sql))})
	return c.send(&pgproto3.Query{String: fmt.Sprintf("%s\n; SELECT %s", s.sql, marker)})
}

func injected(code, message string) *pgproto3.ErrorResponse {
	return &pgproto3.ErrorResponse{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: code, Message: "pgproxy: " + message}
}
