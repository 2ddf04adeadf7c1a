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

// reloadOnHangup reads policies and certificates anew at each SIGHUP, until it is stopped.
func (sv *service) reloadOnHangup(ctx context.Context) (stop func()) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangup:
				sv.reload(ctx)
			}
		}
	}()
	return func() {
		signal.Stop(hangup)
		cancel()
		<-done
	}
}

// reload takes over the policies of the file as it is now, and who is let in. What is wrong
// with it changes nothing.
func (sv *service) reload(ctx context.Context) {
	cfg, err := sv.readPolicies(ctx)
	if err != nil {
		sv.log.Error("the configuration was not taken over: the policies from before stay in force", "error", err)
		return
	}
	sv.reloadSignIn(ctx, cfg)
	if !reflect.DeepEqual(cfg.Routes, sv.config.Routes) {
		sv.log.Warn("the routes in the configuration are others by now: they take a restart")
	}
	sv.log.Info("the policies were read anew; other settings take a restart")
	if err := sv.policies.Close(); err != nil {
		sv.log.Warn("a witness that is no longer asked could not be closed", "error", err)
	}
	sv.policies = cfg
}

// readPolicies reads the file, and lets the registry have its policies.
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

// checkRules refuses policies under which no new names would be given out in a namespace,
// since its names were made by other rules.
func (sv *service) checkRules(ctx context.Context, cfg *config.Config) error {
	err := sv.registry.CheckPolicies(ctx, cfg.Policies, cfg.Default)
	if other, ok := errors.AsType[*dibs.OtherRulesError](err); ok {
		first := other.Namespaces[0].Namespace
		return fmt.Errorf("%w: run \"dibs recanonicalize %s\" with this configuration, see docs/operations.md", err, first)
	}
	return err
}
