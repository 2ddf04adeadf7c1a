package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/pgtest"
)

// On a slow disk a commit takes longer than LockWait. Processes that want the same names are slow, but
// all of their calls end.
func TestSlowDisk(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t, pgtest.Options{Settings: map[string]string{
		"fsync": "on", "commit_delay": "50000", "commit_siblings": "0", // 50 ms
	}})
	at := place{dsn: cluster.DSN("postgres")}
	regs := []*dibs.Registry{registry(t, at, dibs.Config{Suggestions: -1}), registry(t, at, dibs.Config{Suggestions: -1})}
	const (
		names = 10
		steps = 3
	)
	var had, refused atomic.Int64
	begin := time.Now()
	each(callers, func(caller int) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		reg := regs[caller%len(regs)]
		for step := range steps {
			hold, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: fmt.Sprint("name-", (caller+step)%names)})
			switch {
			case errors.Is(err, dibs.ErrNameTaken):
				refused.Add(1)
				continue
			case err != nil:
				t.Errorf("reserving: %v", err)
				continue
			}
			had.Add(1)
			if _, err := reg.Release(ctx, dibs.Release{ID: hold.ID, Token: hold.Token}); err != nil {
				t.Errorf("releasing: %v", err)
			}
		}
	})
	if had.Load() < names {
		t.Errorf("%d reservations succeeded, want %d at least", had.Load(), names)
	}
	for name, now := range readFeed(t, regs[0]).now {
		if now.State != dibs.Free {
			t.Errorf("%s was released, and is %s", name, now.State)
		}
	}
	t.Logf("%d holds reserved and released, %d times taken, in %v", had.Load(), refused.Load(), time.Since(begin))
}
