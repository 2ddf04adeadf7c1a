package pgproxy

import "github.com/jackc/pgx/v5/pgproto3"

// step is one message of an exchange.
type step struct {
	wire     []byte
	sql      string   // The statement that it refers to, if any.
	prepares bool     // A Parse.
	executes bool     // An Execute or a Query.
	simple   bool     // A Query.
	values   [][]byte // The parameters of a Bind in binary format.
}

// collect adds a message to the exchange. It copies the message, which is only valid until
// the next one is read.
//
// A Close is passed on but removes nothing here: the server may skip it because of an
// earlier error, and a name that is really closed gets its next text from the next Parse.
func (c *conn) collect(msg pgproto3.FrontendMessage) {
	var s step
	switch m := msg.(type) {
	case *pgproto3.Parse:
		c.prepare[m.Name] = m.Query
		s.sql, s.prepares = m.Query, true
	case *pgproto3.Bind:
		c.portals[m.DestinationPortal] = c.prepare[m.PreparedStatement]
		s.sql, s.values = c.prepare[m.PreparedStatement], binaryValues(m)
	case *pgproto3.Execute:
		s.sql, s.executes = c.portals[m.Portal], true
	case *pgproto3.Query:
		s.sql, s.executes, s.simple = m.String, true, true
	}
	wire, err := msg.Encode(nil)
	if err != nil {
		// It was decoded from what is encoded here.
		panic(err)
	}
	s.wire = wire
	c.steps = append(c.steps, s)
}

// forward sends steps to the server, up to this one (excluded).
func (c *conn) forward(end int) bool {
	var wire []byte
	for ; c.sent < end; c.sent++ {
		wire = append(wire, c.steps[c.sent].wire...)
	}
	_, err := c.serverConn.Write(wire)
	return err == nil
}

// exchange acts on the steps, the last of which ends an exchange, and reports whether the
// connection continues.
func (c *conn) exchange() bool {
	x := &Exchange{Conn: c.number, status: c.status}
	for _, s := range c.steps {
		if s.executes {
			x.Statements = append(x.Statements, s.sql)
		}
	}
	c.p.saw(x)
	if at, why := c.violation(); why != "" {
		return c.inject(at, "0A000", why)
	}
	return c.act(x, c.p.decide(x))
}
