package pgstore_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/calldibs/dibs"
)

// Sweepers of several processes find the same holds. Each hold expires once, and nothing is logged.
func TestConcurrentSweepers(t *testing.T) {
	t.Parallel()
	const holds = 300
	at := ownSchema(t)
	regs := make([]*dibs.Registry, 3)
	for i := range regs {
		regs[i] = registry(t, at, dibs.Config{
			Default:    dibs.Policy{MinTTL: time.Millisecond},
			SweepEvery: 10 * time.Millisecond, Logger: failingLogger(t),
		})
	}
	each(callers, func(caller int) {
		for i := caller; i < holds; i += callers {
			_, err := regs[i%len(regs)].Reserve(context.Background(), dibs.Reserve{
				Namespace: "slug", Value: fmt.Sprint("name-", i), TTL: dibs.For(100 * time.Millisecond), CorrelationID: fmt.Sprint(i),
			})
			if err != nil {
				t.Error(err)
			}
		}
	})
	await(t, "all holds have expired", func() bool {
		page, err := regs[0].List(context.Background(), dibs.NamesQuery{Namespace: "slug", State: dibs.Held, Limit: 1})
		return err == nil && len(page.Names) == 0
	})
	await(t, "the feed has all names", func() bool { return len(readFeed(t, regs[0]).kinds) == holds })
	want := []dibs.EventKind{dibs.EventReserved, dibs.EventExpired}
	for name, kinds := range readFeed(t, regs[0]).kinds {
		if !slices.Equal(kinds, want) {
			t.Errorf("%s: %v, want %v", name, kinds, want)
		}
	}
}
