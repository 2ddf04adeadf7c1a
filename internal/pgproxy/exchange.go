package pgproxy

import (
	"regexp"
	"slices"
)

// Exchange is one round trip of a client, as a hook sees it.
type Exchange struct {
	// Conn is the number of the client's connection, from 1.
	Conn int
	// Statements has the text of each executed statement, in order: one for each Execute
	// of the extended protocol, or the whole text of a simple query. It is empty if
	// statements are only prepared.
	Statements []string

	// status is the server's transaction status before this exchange; zero means idle.
	status byte
}

// The transaction statuses of ReadyForQuery.
const (
	statusIdle   = 'I'
	statusFailed = 'E'
)

// Commits reports whether this exchange commits something: by a COMMIT, or by statements
// that write outside of an explicit transaction.
func (x *Exchange) Commits() bool {
	explicit := x.status != 0 && x.status != statusIdle
	failed := x.status == statusFailed
	written := false
	for _, s := range x.pieces() {
		switch endsOrBegins(s) {
		case begins:
			// Earlier writes in the same exchange are now part of the transaction.
			explicit = true
		case commits:
			if !failed && (explicit || written) {
				return true
			}
			explicit, failed, written = false, false, false
		case rollsBack:
			explicit, failed, written = false, false, false
		case neither:
			written = written || writes(s)
		}
	}
	return written && !explicit
}

// Find returns the index of the first statement that matches, or -1.
func (x *Exchange) Find(pattern *regexp.Regexp) int {
	return slices.IndexFunc(x.Statements, pattern.MatchString)
}

// lastCommit returns the index of the last statement with a COMMIT in it, or -1.
func (x *Exchange) lastCommit() int {
	for i, s := range slices.Backward(x.Statements) {
		if hasCommit(s) {
			return i
		}
	}
	return -1
}

func (x *Exchange) pieces() []string {
	var all []string
	for _, s := range x.Statements {
		all = append(all, pieces(s)...)
	}
	return all
}
