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

// Several registries on one store in memory, behind a bad network: every violation here is
// an error of the registry.
func TestHistoriesInMemory(t *testing.T) {
	t.Parallel()
	store := memstore.New(memstore.Config{})
	faulty := new(atomic.Bool)
	var regs []*dibs.Registry
	for range 3 {
		regs = append(regs, registry(t, flakyStore(t, store, faulty)))
	}
	linear.Run(t, linear.Site{
		Registries: regs, Patience: time.Second,
		Fault: func(random *rand.Rand) string { return disturb(faulty, random) },
	}, linear.Count(t, 60))
}
