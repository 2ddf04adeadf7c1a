// Package torture runs real servers on a real engine, lets many callers race for few names
// while faults happen, and checks everything that the callers saw.
//
// A run consists of rounds. In each round callers make histories (package linear), which are
// checked for linearizability, while one fault follows the other (fault.go). After each fault
// the run waits until every server acknowledges a change again. At the end of a round, feed,
// histories and state are compared with each other and with what was acknowledged (audit.go).
//
// Callers reach each server by a [link], which can be cut and slowed down. The servers are
// processes of their own, so that they can be killed.
package torture
