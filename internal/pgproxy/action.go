package pgproxy

// Action is what happens to an exchange. The zero value passes it on.
type Action struct {
	kind      actionKind
	statement int
	code      string
	until     <-chan struct{}
}

type actionKind int

const (
	pass actionKind = iota
	fail
	failCommit
	cutBefore
	cutDuring
	cutAfter
	stall
	stallAnswer
)

// Pass passes an exchange on unchanged.
func Pass() Action { return Action{} }

// Fail makes the statement with this index fail with an SQLSTATE, such as 40001. The
// statements before it are executed, the statement itself is not, and the server skips the
// rest. A COMMIT that fails rolls back, and leaves the connection idle. A simple query fails
// as a whole.
func Fail(statement int, code string) Action {
	return Action{kind: fail, statement: statement, code: code}
}

// FailCommit makes the commit at the end of an exchange fail with an SQLSTATE: an explicit
// COMMIT, or the implicit one after statements outside of a transaction. The client gets
// the results before the error, and everything is rolled back. An exchange without a commit
// passes.
func FailCommit(code string) Action { return Action{kind: failCommit, code: code} }

// CutBefore closes the connection; the server gets nothing of the exchange.
func CutBefore() Action { return Action{kind: cutBefore} }

// CutDuring sends the first n statements to the server, without the Sync at their end, and
// closes the connection at once. A simple query counts as one statement. [Proxy.AwaitServer]
// waits until the server is done with them.
func CutDuring(n int) Action { return Action{kind: cutDuring, statement: n} }

// CutAfter closes the connection when the server has done the whole exchange; the client
// gets nothing of the answer.
func CutAfter() Action { return Action{kind: cutAfter} }

// Stall sends an exchange to the server when the channel is closed, even if the client is
// gone by then, as a slow network does. A nil channel means never.
func Stall(until <-chan struct{}) Action { return Action{kind: stall, until: until} }

// StallAnswer withholds the answer until the channel is closed; the server has done the
// whole exchange. A nil channel means never.
func StallAnswer(until <-chan struct{}) Action { return Action{kind: stallAnswer, until: until} }
