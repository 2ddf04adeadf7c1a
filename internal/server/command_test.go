package server

import (
	"maps"
	"slices"
	"testing"

	"github.com/calldibs/dibs/internal/wire"
)

// onlyInLists are commands without a call of their own.
var onlyInLists = []string{"rekey"}

// Every command that a list can have is in the server's table, with its rights and its call.
func TestEveryCommandIsInTheTable(t *testing.T) {
	t.Parallel()
	types := commandTypes()
	if got := slices.Sorted(maps.Keys(types)); !slices.Equal(got, wire.Ops()) {
		t.Errorf("internal/server/command.go has entries for %v, package wire for %v", got, wire.Ops())
	}
	for op, c := range types {
		if c.allow == nil {
			t.Errorf("%s: the entry does not say which right the command takes", op)
		}
		if (c.register == nil) != slices.Contains(onlyInLists, op) {
			t.Errorf("%s: the entry needs a call of its own, or belongs to onlyInLists", op)
		}
	}
}
