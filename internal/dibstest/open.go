// Package dibstest opens registries for tests, and checks what those in a caller's transaction
// have in common.
package dibstest

import (
	"testing"

	"github.com/calldibs/dibs/internal/core"

	"github.com/calldibs/dibs"
)

// Open opens a registry on a store, and closes it with the test.
func Open(tb testing.TB, store dibs.Store, cfg dibs.Config) *dibs.Registry {
	tb.Helper()
	reg, err := core.Open(store, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = reg.Close() })
	return reg
}
