// Package embedded opens a registry in this process, on an engine of your choice.
//
// A registry that is opened with the zero [dibs.Config] decides as a server with its default
// settings does: the same program runs on both, except for the line that opens the registry.
package embedded

import (
	"cmp"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/core"
	"github.com/calldibs/dibs/profile"
)

// sweepEvery is how often the background sweeper runs unless the Config says otherwise. The
// server has the same default.
const sweepEvery = 10 * time.Second

// Open returns a Registry over an engine. The Registry owns the store from then on, and closes
// it. Zero fields of the Config have the defaults that the fields state: nil Policies mean
// [profile.Policies], and a background sweeper runs.
func Open(store dibs.Store, cfg dibs.Config) (*dibs.Registry, error) {
	if cfg.Policies == nil {
		cfg.Policies = profile.Policies()
	}
	cfg.SweepEvery = cmp.Or(cfg.SweepEvery, sweepEvery)
	return core.Open(store, cfg)
}
