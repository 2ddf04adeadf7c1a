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
