// Package nametest has tests of the registry that every engine runs: no owner gets a
// look-alike of another's name, processes with different keys never give one value to two
// owners, and a blind value leaves no trace. Only tests use it.
package nametest
