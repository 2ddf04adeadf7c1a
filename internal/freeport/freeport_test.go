//go:build unix

package freeport_test

import (
	"net"
	"strconv"
	"testing"

	"github.com/calldibs/dibs/internal/freeport"
)

// A port is given out once, can be listened on, and is not among those that the system chooses.
func TestPorts(t *testing.T) {
	t.Parallel()
	taken := make(map[int]bool)
	for range 300 {
		port := freeport.Port(t)
		if taken[port] || port >= 32768 {
			t.Fatalf("the port %d is given out twice, or is one that the system chooses", port)
		}
		taken[port] = true
	}
	for range 10 {
		listener, err := net.Listen("tcp", freeport.Address(t))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = listener.Close() }()
		if _, port, _ := net.SplitHostPort(listener.Addr().String()); taken[mustInt(t, port)] {
			t.Errorf("the port %s is given out twice", port)
		}
	}
}

func mustInt(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Each number is given out once, those that are in use are not, and one that was given back is free.
func TestNumbers(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	taken := make(map[int]func())
	for range 2 {
		number, release, err := freeport.TakeNumber("numbers", 7, 3, func(n int) bool { return n != 8 })
		if err != nil || taken[number] != nil || number != 7 && number != 9 {
			t.Fatal(number, taken, err)
		}
		taken[number] = release
	}
	if number, _, err := freeport.TakeNumber("numbers", 7, 3, func(n int) bool { return n != 8 }); err == nil {
		t.Fatalf("%d is given out, and none is free", number)
	}
	taken[9]()
	if number, release, err := freeport.TakeNumber("numbers", 7, 3, func(int) bool { return true }); err != nil || number == 7 {
		t.Error(number, err)
	} else {
		release()
	}
	taken[7]()
}
