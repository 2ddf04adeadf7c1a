package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"reflect"
	"syscall"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/config"
)

// reloadOnHangup reloads policies and certificates at each SIGHUP, until stop.
func (sv *service) reloadOnHangup(ctx context.Context) (stop func()) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	end := background(ctx, func(ctx context.Context) {
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangup:
				sv.reload(ctx)
			}
		}
	})
	return func() {
		signal.Stop(hangup)
		end()
	}
}

// reload applies the policies and the sign-in settings of the file. An invalid file changes
// nothing.
func (sv *service) reload(ctx context.Context) {
	cfg, err := sv.readPolicies(ctx)
	if err != nil {
		sv.log.Error("reload failed; the previous policies stay in force", "error", err)
		return
	}
	sv.reloadSignIn(ctx, cfg)
	if !reflect.DeepEqual(cfg.Routes, sv.config.Routes) {
		sv.log.Warn("routes changed; restart to apply them")
	}
	sv.log.Info("policies reloaded; restart to apply other settings")
	if err := sv.policies.Close(); err != nil {
		sv.log.Warn("closing an unused witness failed", "error", err)
	}
	sv.policies = cfg
}

// readPolicies reads the file, and sets its policies on the registry.
func (sv *service) readPolicies(ctx context.Context) (*config.Config, error) {
	cfg, err := config.Load(sv.overrides)
	if err != nil {
		return nil, err
	}
	if err = sv.checkRules(ctx, cfg); err == nil {
		err = sv.registry.SetPolicies(cfg.Policies, cfg.Default)
	}
	if err != nil {
		return nil, errors.Join(err, cfg.Close())
	}
	return cfg, nil
}

// checkRules refuses policies whose rules differ from those of the existing names: no new name of
// such a namespace could be taken.
func (sv *service) checkRules(ctx context.Context, cfg *config.Config) error {
	err := sv.registry.CheckPolicies(ctx, cfg.Policies, cfg.Default)
	if other, ok := errors.AsType[*dibs.OtherRulesError](err); ok {
		first := other.Namespaces[0].Namespace
		return fmt.Errorf("%w: run \"dibs recanonicalize %s\" with this configuration, see docs/operations.md", err, first)
	}
	return err
}
