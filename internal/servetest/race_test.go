//go:build race

package servetest_test

// raced says that the processes have the race detector, which makes them slow and large.
const raced = true
