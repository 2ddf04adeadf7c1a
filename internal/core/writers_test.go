package core_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// parallelStore is a store that likes so many commits at once.
type parallelStore struct {
	*coretest.GatedStore
	writers int
}

func (s parallelStore) Writers() int { return s.writers }

// As many batches are under way at once as the config says, else the engine, else one.
func TestWritersAtOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ engine, config, want int }{
		{engine: 3, want: 3},
		{engine: 3, config: 2, want: 2},
		{engine: 3, config: 1, want: 1},
		{engine: 0, want: 1},
		{engine: -1, config: 2, want: 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := coretest.NewGatedStore()
			reg := coretest.MustOpen(t, parallelStore{store, c.engine}, dibs.Config{Writers: c.config})
			release := coretest.Block(store)
			var waiting []<-chan error
			for i := range 5 {
				waiting = append(waiting, reserveAsync(t.Context(), reg, fmt.Sprint("name-", i), ""))
				synctest.Wait()
			}
			if n := store.Commits(); n != c.want {
				t.Errorf("%+v: %d commits under way", c, n)
			}
			release()
			for _, done := range waiting {
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
		})
	}
}
