package pgproxy

import (
	"regexp"
	"sync/atomic"
)

// Hook decides what happens to an exchange. It is called for each one before the server
// gets it, concurrently for several connections.
type Hook func(*Exchange) Action

// Matcher selects exchanges. (*Exchange).Commits is one.
type Matcher func(*Exchange) bool

// SQL matches an exchange with a statement that matches a regular expression.
func SQL(pattern string) Matcher {
	re := regexp.MustCompile(pattern)
	return func(x *Exchange) bool { return x.Find(re) >= 0 }
}

// Always returns a hook that applies an action to every matching exchange.
func Always(match Matcher, action Action) Hook {
	return func(x *Exchange) Action {
		if match(x) {
			return action
		}
		return Pass()
	}
}

// Once returns a hook that applies an action to the first matching exchange.
func Once(match Matcher, action Action) Hook { return Nth(1, match, action) }

// Nth returns a hook that applies an action to the nth matching exchange, from 1.
func Nth(n int, match Matcher, action Action) Hook {
	var seen atomic.Int64
	return func(x *Exchange) Action {
		if match(x) && seen.Add(1) == int64(n) {
			return action
		}
		return Pass()
	}
}

// FailStatement returns a hook that makes the first matching statement fail, once.
func FailStatement(pattern, code string) Hook {
	re := regexp.MustCompile(pattern)
	var done atomic.Bool
	return func(x *Exchange) Action {
		if i := x.Find(re); i >= 0 && done.CompareAndSwap(false, true) {
			return Fail(i, code)
		}
		return Pass()
	}
}
