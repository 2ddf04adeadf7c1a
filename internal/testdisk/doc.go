// Package testdisk gives a test a disk of its own, which can become full or read-only, and can lose
// power. Only root on Linux can mount one.
package testdisk
