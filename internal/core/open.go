package core

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
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
	return dibs.NewRegistry(openRouter(store, cfg, all)), nil
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

// policySet is a set of policies with a number that no other set of this process has.
type policySet struct {
	*rules.Policies
	generation uint64
}

var lastGeneration atomic.Uint64

// policies is the part of a backend that is about policies. Backends embed it.
type policies struct {
	current *atomic.Pointer[policySet] // shared by all cores of a registry, in transactions too
	store   dibs.Store                 // whose namespaces CheckPolicies compares
}

// rules returns the rules under the current policies.
func (p policies) rules() *rules.Policies { return p.current.Load().Policies }

func (p policies) SetPolicies(byNamespace map[string]dibs.Policy, fallback dibs.Policy) error {
	set, err := rules.NewPolicies(byNamespace, fallback)
	if err != nil {
		return err
	}
	p.current.Store(&policySet{set, lastGeneration.Add(1)})
	return nil
}

func (p policies) Policy(namespace string) (dibs.Policy, error) {
	policy, err := p.rules().Policy(namespace)
	if err != nil {
		return dibs.Policy{}, err
	}
	return policy, nil
}

// CheckPolicies compares policies with the rules on record of every namespace.
func (p policies) CheckPolicies(ctx context.Context, byNamespace map[string]dibs.Policy, fallback dibs.Policy) error {
	set, err := rules.NewPolicies(byNamespace, fallback)
	if err != nil {
		return err
	}
	var other dibs.OtherRulesError
	query := dibs.ListQuery{Kind: dibs.KindNamespace, Limit: recanonicalizePage}
	for doc, err := range listAll[*dibs.Document](ctx, p.store, query) {
		if err != nil {
			return err
		}
		rules, differ, damaged := set.OtherRules(doc)
		switch {
		case damaged != nil:
			return damaged
		case !differ:
		case len(other.Namespaces) < maxFindings:
			other.Namespaces = append(other.Namespaces, rules)
		default:
			other.More++
		}
	}
	if len(other.Namespaces) == 0 {
		return nil
	}
	slices.SortFunc(other.Namespaces, func(a, b dibs.OtherRules) int { return strings.Compare(a.Namespace, b.Namespace) })
	return &other
}
