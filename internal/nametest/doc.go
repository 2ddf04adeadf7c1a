// Package nametest has tests of names that every engine runs, at the level of the
// registry: that nobody gets a look-alike of another's name, that processes with
// different keys never give one value to two, and that a blind value leaves no trace.
// Only tests use it.
package nametest
