// Package wire has the JSON types of the server's API, and converts them from and to the
// library's types. The server, the Go client and the command line share it.
package wire
