package linear_test

import (
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/linear"
	"github.com/calldibs/dibs/memstore"
)

// registry opens a registry on a store; it closes with the test.
func registry(tb testing.TB, store dibs.Store) *dibs.Registry {
	tb.Helper()
	reg, err := dibs.Open(store, linear.Config())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = reg.Close() })
	return reg
}

func TestMem(t *testing.T) {
	store := memstore.New(memstore.Config{})
	var regs []*dibs.Registry
	for range 3 {
		regs = append(regs, registry(t, store))
	}
	linear.Run(t, linear.Site{Registries: regs, Patience: time.Second}, 200)
}
