package core

import (
	"cmp"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wake"
)

// Open returns a Registry on an engine. The Registry owns the store from then on, and closes
// it. Unlike embedded.Open it adds no profiles and no sweeper: nil Policies mean that Default
// is the policy of every namespace, and a zero SweepEvery means that no sweeper runs.
func Open(store dibs.Store, cfg dibs.Config) (*dibs.Registry, error) {
	if err := validateConfig(cfg); err != nil {
		return nil, err
	}
	all := policies{new(atomic.Pointer[policySet]), store}
	if err := all.SetPolicies(cfg.Policies, cfg.Default); err != nil {
		return nil, err
	}
	return dibs.NewRegistry(observe(openBackend(store, cfg, all), cfg.Observer)), nil
}

// openBackend returns a core on a store with one part, and a router on one with several.
func openBackend(store dibs.Store, cfg dibs.Config, all policies) dibs.EmbeddedBackend {
	engine := store
	if whole, ok := store.(dibs.Partitioned); ok {
		switch parts := whole.Parts(); len(parts) {
		case 0:
		case 1:
			engine = parts[0].Store
		default:
			return openRouter(whole, cfg, all)
		}
	}
	c := openCore(engine, withDefaults(cfg, engine), all, &wake.List{})
	c.closeStore = store.Close
	return c
}

// validateConfig checks a config, with or without its defaults.
func validateConfig(c dibs.Config) error {
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"QueueSize", int64(c.QueueSize)},
		{"MaxBatch", int64(c.MaxBatch)},
		{"Writers", int64(c.Writers)},
		{"PollEvery", int64(c.PollEvery)},
		{"ConflictHistory", int64(c.ConflictHistory)},
	} {
		if f.value < 0 {
			return fmt.Errorf("dibs: Config.%s is negative", f.name)
		}
	}
	return nil
}

// withDefaults returns the config with the defaults for an engine in place of zero fields.
func withDefaults(c dibs.Config, engine dibs.Store) dibs.Config {
	c.QueueSize = cmp.Or(c.QueueSize, 4096)
	c.MaxBatch = cmp.Or(c.MaxBatch, 512)
	c.Writers = cmp.Or(c.Writers, writersOf(engine))
	c.PollEvery = cmp.Or(c.PollEvery, 250*time.Millisecond)
	c.Suggestions = cmp.Or(c.Suggestions, 3)
	c.ConflictHistory = cmp.Or(c.ConflictHistory, 90*24*time.Hour)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// writersOf returns how many concurrent commits suit an engine.
func writersOf(engine dibs.Store) int {
	if p, ok := engine.(dibs.Parallel); ok {
		return max(p.Writers(), 1)
	}
	return 1
}
