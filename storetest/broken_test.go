package storetest

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/parallel"
)

// brokenPatience is the patience with a store that is broken: some never answer.
const brokenPatience = 2 * time.Second

func TestMain(m *testing.M) {
	parallel.PerProcessor(4) // which mostly wait
	os.Exit(m.Run())
}

// broken is a store that breaks one must, in one of the ways engines do.
type broken struct {
	must    string
	how     string
	apply   breakage
	harness func(h *Harness) // breaks the harness instead, for data lost between stores
}

func brokenStores() []broken {
	return slices.Concat(brokenLoads(), brokenFields(), brokenCommits(), brokenBusy(), brokenAwaits(), brokenGroups(), brokenForgetting(), brokenScans(), brokenLists(),
		brokenEvents(), brokenSnapshots(), brokenLives(), brokenDisks())
}

// Each broken store must fail a case of the must that it breaks.
func TestBrokenStoresFail(t *testing.T) {
	t.Parallel()
	for _, b := range brokenStores() {
		t.Run(b.must+"/"+b.how, func(t *testing.T) {
			t.Parallel()
			harness := fakes(b.apply)
			if b.harness != nil {
				b.harness(&harness)
			}
			for _, c := range cases {
				if !slices.Contains(c.ids(), b.must) {
					continue
				}
				if failures := try(t, c, harness); len(failures) > 0 {
					t.Logf("fails %q: %s", c.name, failures[0])
					return
				}
			}
			t.Errorf("no case of [%s] fails", b.must)
		})
	}
}

func TestEveryMustHasABrokenStore(t *testing.T) {
	t.Parallel()
	ids := contract(t)
	covered := make(map[string]bool)
	for _, b := range brokenStores() {
		covered[b.must] = true
		if !slices.Contains(ids, b.must) {
			t.Errorf("a store breaks [%s], which is not in store.go", b.must)
		}
	}
	for _, id := range ids {
		if !covered[id] {
			t.Errorf("[%s] in store.go has no store that breaks it", id)
		}
	}
}
