// Package servetest tests the server as a separate process: how it starts and ends, what
// happens when it is killed, and how much load it carries. It also kills imports, and what
// they read from.
package servetest
