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

// Pass lets an exchange through unchanged.
func Pass() Action { return Action{} }

// Fail lets the statement with this index fail with an SQLSTATE, such as 40001. What comes
// before it is really done, the statement itself is not, and the server skips the rest. A
// COMMIT that fails rolls back, and leaves the connection idle. A simple query fails as a
// whole.
func Fail(statement int, code string) Action {
	return Action{kind: fail, statement: statement, code: code}
}

// FailCommit lets the commit at the end of an exchange fail with an SQLSTATE: that of an
// explicit COMMIT, or else the one that follows statements outside of a transaction. Their
// results are seen before the error, and all of it is rolled back. An exchange that commits
// nothing passes.
func FailCommit(code string) Action { return Action{kind: failCommit, code: code} }

// CutBefore closes the connection; the server saw nothing of the exchange.
func CutBefore() Action { return Action{kind: cutBefore} }

// CutDuring sends the first n statements to the server, without the Sync at their end, and
// closes the connection at once. A simple query counts as one statement. [Proxy.Settle]
// waits for what becomes of them.
func CutDuring(n int) Action { return Action{kind: cutDuring, statement: n} }

// CutAfter closes the connection when the server has done all of the exchange; the client
// sees nothing of the answer.
func CutAfter() Action { return Action{kind: cutAfter} }

// Stall sends an exchange to the server when the channel is closed, even if the client is
// gone by then: that is how a slow network delivers. If nil, that is never.
func Stall(until <-chan struct{}) Action { return Action{kind: stall, until: until} }

// StallAnswer withholds the answer until the channel is closed, the server having done all
// of the exchange. If nil, that is never.
func StallAnswer(until <-chan struct{}) Action { return Action{kind: stallAnswer, until: until} }
