// Package embedded opens a registry in this process, on an engine of your choice.
//
// A registry that is opened with the zero [dibs.Config] decides as a server with its default
// settings does: the same program runs on both, except for the line that opens the registry.
package embedded

import (
	"cmp"
	"context"
	"errors"
	"strings"
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
//
// With nil Policies, Open reads which rules the namespaces of the store have. One whose usernames
// were made before the defaults checked scripts and look-alikes keeps its rules, and the Logger
// says so; Recanonicalize with [profile.Policies] switches the checks on.
func Open(store dibs.Store, cfg dibs.Config) (*dibs.Registry, error) {
	cfg.SweepEvery = cmp.Or(cfg.SweepEvery, sweepEvery)
	if cfg.Policies != nil {
		return core.Open(store, cfg)
	}
	cfg.Policies = profile.Policies()
	registry, err := core.Open(store, cfg)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	former := profile.Defaults{AllowMixedScripts: true, AllowLookAlikes: true}.Policies()
	policies, kept, err := core.KeepRules(ctx, registry, cfg.Policies, cfg.Default, former)
	if err == nil && len(kept) > 0 {
		if cfg.Logger != nil {
			cfg.Logger.Warn(core.KeptRules, "namespaces", strings.Join(kept, " "))
		}
		err = registry.SetPolicies(policies, cfg.Default)
	}
	if err != nil {
		return nil, errors.Join(err, registry.Close())
	}
	return registry, nil
}

// openTimeout is how long Open reads the namespaces of a store.
const openTimeout = 30 * time.Second
