// Package wire has the JSON of the server's API, and how it relates to the library's
// types. The server, the Go client and the command line share it, so that they cannot
// disagree.
package wire
