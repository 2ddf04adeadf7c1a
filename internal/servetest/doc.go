// Package servetest has tests of the server as a process of its own: how it starts and
// ends, what it does when it is killed, and what it bears.
package servetest
