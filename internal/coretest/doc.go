// Package coretest has what the tests of the rules and of the core share: a registry in memory
// whose clock stands still, stores that a test can stop or count, and the tables of the matrix.
package coretest
