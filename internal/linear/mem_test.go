//go:build unix

package linear_test

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/linear"
	"github.com/calldibs/dibs/memstore"
)

// Several registries on one store in memory, by a bad line: whatever goes wrong here is the
// registry's fault.
func TestHistoriesInMemory(t *testing.T) {
	t.Parallel()
	store := memstore.New(memstore.Config{})
	storm := new(atomic.Bool)
	var regs []*dibs.Registry
	for range 3 {
		regs = append(regs, registry(t, flakyStore(t, store, storm)))
	}
	linear.Run(t, linear.Site{
		Registries: regs, Patience: time.Second,
		Harm: func(random *rand.Rand) string { return blow(storm, random) },
	}, linear.Count(t, 60))
}
