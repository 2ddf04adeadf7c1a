package server

import (
	"context"
	"slices"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/wire"
)

// onlyInLists are commands without a call of their own.
var onlyInLists = []string{"rekey"}

// Every command that a list can have has a call, and a case that says which right it takes.
func TestEveryCommandHasACallAndARight(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	var calls []string
	for _, path := range s.api.OpenAPI().Paths {
		for _, call := range []*huma.Operation{path.Post, path.Put, path.Delete} {
			if call != nil {
				calls = append(calls, call.OperationID)
			}
		}
	}
	all := context.WithValue(t.Context(), infoKey{}, &requestInfo{caller: access.Everything})
	for _, op := range wire.Ops() {
		if slices.Contains(calls, op) == slices.Contains(onlyInLists, op) {
			t.Errorf("%s: internal/server/command.go needs a call of its own, or it belongs to onlyInLists", op)
		}
		command, err := wire.Command{Op: op}.Command()
		if err != nil {
			command, err = wire.Command{Op: op, ReservationID: dibs.NameID("slug", "a").String()}.Command()
		}
		if err != nil {
			t.Fatal(op, err)
		}
		if err := s.mayApply(all, command); err != nil {
			t.Errorf("%s: mayApply does not say which right the command takes: %v", op, err)
		}
	}
}
