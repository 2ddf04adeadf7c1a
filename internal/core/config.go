package core

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"github.com/calldibs/dibs"
)

// withDefaults returns the config with every zero field filled in.
func withConfigDefaults(c dibs.Config, store dibs.Store) dibs.Config {
	c.QueueSize = cmp.Or(c.QueueSize, 4096)
	c.MaxBatch = cmp.Or(c.MaxBatch, 512)
	c.Writers = cmp.Or(c.Writers, writersOf(store))
	c.PollEvery = cmp.Or(c.PollEvery, 250*time.Millisecond)
	c.Suggestions = cmp.Or(c.Suggestions, 3)
	c.ConflictHistory = cmp.Or(c.ConflictHistory, 90*24*time.Hour)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// writersOf returns how many batches the engine likes to have under way.
func writersOf(store dibs.Store) int {
	if p, ok := store.(dibs.Parallel); ok {
		return max(p.Writers(), 1)
	}
	return 1
}

// validate checks a config, with or without its defaults.
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
