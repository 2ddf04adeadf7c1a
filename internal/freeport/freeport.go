//go:build unix

// Package freeport gives tests ports for programs that cannot take a free one themselves: a configuration
// names the port before its program starts, or a program comes back where it was.
//
// A port that the system chose, and that was given back, is soon given to another test: many listen at once. So these ports are
// below those that the system chooses, and a lock keeps each for one test, also among a user's processes.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// The ports: below those that Linux (32768) and others (49152) choose from.
const first, count = 20_000, 12_000

// TB is the part of testing.TB that this package uses.
type TB interface {
	Helper()
	Cleanup(func())
	Fatal(args ...any)
}

// Take returns a port of this machine that no other test gets before release.
func Take() (port int, release func(), err error) { return TakeNumber("ports", first, count, isFree) }

// TakeNumber returns one of count numbers from first on that is free, and that no other test gets for the same purpose
// before release, also in another process.
func TakeNumber(purpose string, first, count int, isFree func(int) bool) (number int, release func(), err error) {
	folder := filepath.Join(os.TempDir(), fmt.Sprintf("dibs-test-%s-%d", purpose, os.Getuid()))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return 0, nil, err
	}
	for _, i := range rand.Perm(count) {
		lock, err := os.OpenFile(filepath.Join(folder, strconv.Itoa(first+i)), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return 0, nil, err
		}
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil && isFree(first+i) {
			return first + i, func() { _ = lock.Close() }, nil
		}
		_ = lock.Close()
	}
	return 0, nil, fmt.Errorf("none of the %s from %d to %d is free", purpose, first, first+count-1)
}

// isFree reports whether no program listens on a port, at any address.
func isFree(port int) bool {
	listener, err := net.Listen("tcp", ":"+strconv.Itoa(port))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}

// Port returns a port that is the test's until it ends.
func Port(tb TB) int {
	tb.Helper()
	port, release, err := Take()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(release)
	return port
}

// Address returns an address of this machine, such as 127.0.0.1:20123, that is the test's until it ends.
func Address(tb TB) string {
	tb.Helper()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(Port(tb)))
}
