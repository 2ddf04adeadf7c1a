package server

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/record"
	"github.com/calldibs/dibs/internal/wire"
)

func (s *Server) registerInfo() {
	get := func(path, id, summary string) huma.Operation {
		return s.operation(http.MethodGet, path, id, summary, "Operating")
	}
	register(s, get("/v1/me", "me", "Show the caller and its rights"), s.me)
	register(s, get("/v1/server", "server", "Show the server, its stores and how far behind its work is"), s.info)
	register(s, get("/v1/policies", "policies", "Show the policies in force"), s.policies)
}

// StoreInfo describes one store of a server, for operators.
type StoreInfo struct {
	Name   string   // empty means the only one
	Engine string   // "sqlite", "postgres", "etcd" or "mem"
	Scopes []string // of a route; none for the store that has all other scopes
}

// serverInfo is what operators want to know first.
type serverInfo struct {
	Version   string            `json:"version" example:"0.1.0"`
	Now       string            `json:"now" format:"date-time" doc:"The engine's clock, by which all holds end."`
	StartedAt string            `json:"startedAt" format:"date-time"`
	Stores    []storeInfo       `json:"stores" nullable:"false"`
	Sweeper   sweeperInfo       `json:"sweeper"`
	Feed      feedInfo          `json:"feed"`
	Webhooks  webhooksInfo      `json:"webhooks"`
	Limits    map[string]string `json:"limits,omitempty" doc:"The limits of this server, off if there is none. Only for callers with the right stats in all namespaces."`
}

type storeInfo struct {
	Store  string   `json:"store" example:"default"`
	Engine string   `json:"engine,omitempty" example:"sqlite"`
	Scopes []string `json:"scopes,omitempty" nullable:"false" doc:"The scopes that are routed to it; absent for the store of all others."`
	Reads  bool     `json:"reads" doc:"Whether it answers."`
	Writes bool     `json:"writes" doc:"Whether it can be written to."`
	Cause  string   `json:"cause,omitempty" doc:"What is wrong, if that is known."`
}

type sweeperInfo struct {
	LagMs int64 `json:"lagMs" doc:"How long the oldest record has been due. No name waits for the sweeper."`
}

type feedInfo struct {
	LagMs   int64 `json:"lagMs" doc:"The time from the last event on a stream of this server to its arrival."`
	Streams int64 `json:"streams" doc:"How many streams are open on this server."`
}

type webhooksInfo struct {
	Enabled bool  `json:"enabled"`
	LagMs   int64 `json:"lagMs" doc:"The age of the oldest event that waits, of the webhooks for which this server delivers."`
}

func (s *Server) info(ctx context.Context, _ *struct{}) (*answer[serverInfo], error) {
	if err := s.maySomewhere(ctx, access.Stats); err != nil {
		return nil, err
	}
	loaded, err := s.cfg.Store.Load(ctx, nil)
	if err != nil {
		return nil, err
	}
	lag, err := s.sweepLag(ctx, loaded.Now)
	if err != nil {
		return nil, err
	}
	info := serverInfo{
		Version: s.version(), Now: wire.FormatTime(loaded.Now.Time()), StartedAt: wire.FormatTime(s.started),
		Sweeper:  sweeperInfo{lag.Milliseconds()},
		Feed:     feedInfo{s.feedLag.Load(), s.openStreams.Load()},
		Webhooks: webhooksInfo{s.cfg.Webhooks != nil, s.cfg.Metrics.webhooks.lag().Milliseconds()},
	}
	everywhere := callerOf(ctx).May(access.Stats, allNamespaces)
	if info.Stores, err = s.stores(ctx, everywhere); everywhere {
		info.Limits = s.limitTexts()
	}
	return ok(info), err
}

// version returns the version of the program.
func (s *Server) version() string {
	return cmp.Or(s.cfg.Version, "development")
}

// sweepLag returns how long the oldest record has been due.
func (s *Server) sweepLag(ctx context.Context, now dibs.Instant) (time.Duration, error) {
	due, err := s.cfg.Store.Due(ctx, 1)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	loaded, err := s.cfg.Store.Load(ctx, due)
	if err != nil || len(loaded.Records) == 0 {
		return 0, err
	}
	return max(0, now.Sub(record.Due(loaded.Records[0]))), nil
}

// stores returns the stores and their states. Scopes are names of tenants, which not every caller
// may see.
func (s *Server) stores(ctx context.Context, scopes bool) ([]storeInfo, error) {
	states, err := s.storeStates(ctx)
	list := []storeInfo{}
	for _, store := range s.cfg.Stores {
		info := storeInfo{Store: cmp.Or(store.Name, "default"), Engine: store.Engine, Reads: err == nil, Writes: err == nil}
		if scopes {
			info.Scopes = store.Scopes
		}
		for _, state := range states {
			if storeLabel(state) == info.Store {
				info.Reads, info.Writes, info.Cause = state.Reads, state.Writes, string(state.Cause)
			}
		}
		list = append(list, info)
	}
	return list, err
}

// limitTexts returns the limits by their names in the configuration.
func (s *Server) limitTexts() map[string]string {
	l := s.cfg.Limits
	texts := map[string]string{
		"reads": l.Reads.String(), "writes": l.Writes.String(), "checks": l.Checks.String(), "perAddress": l.PerAddress.String(), "signIn": l.SignIn.String(),
	}
	for name, n := range map[string]int{
		"maxInFlight": l.MaxInFlight, "maxWaiting": l.MaxWaiting, "maxStreams": l.MaxStreams, "maxConnections": l.MaxConnections,
	} {
		if texts[name] = "off"; n > 0 {
			texts[name] = strconv.Itoa(n)
		}
	}
	return texts
}

// policyInfo is the policy of a namespace, or of all namespaces of a type.
type policyInfo struct {
	Namespace        string   `json:"namespace" doc:"A namespace, a type of namespaces, or * for all others." example:"slug"`
	Profile          string   `json:"profile" doc:"How values become canonical." example:"slug/1"`
	MinTTLMs         int64    `json:"minTtlMs"`
	DefaultTTLMs     int64    `json:"defaultTtlMs"`
	MaxTTLMs         int64    `json:"maxTtlMs"`
	MaxHoldMs        int64    `json:"maxHoldMs" doc:"The bound of a hold with all of its extensions."`
	MaxHolds         int      `json:"maxHolds" doc:"Live holds of one principal; 0 means no bound."`
	HoldHistoryMs    int64    `json:"holdHistoryMs"`
	ManyPerEntity    bool     `json:"manyPerEntity"`
	QuarantineMs     int64    `json:"quarantineMs"`
	AliasRetentionMs int64    `json:"aliasRetentionMs" doc:"How long an old name redirects; 0 means for ever."`
	RedirectStatus   int      `json:"redirectStatus"`
	ArchivedStatus   int      `json:"archivedStatus"`
	ReservedWords    bool     `json:"reservedWords" doc:"Whether some words are reserved."`
	Witness          bool     `json:"witness" doc:"Whether a witness decides about lapsed holds."`
	LookAlikes       bool     `json:"lookAlikes" doc:"Whether names that look like another one are refused."`
	Blind            bool     `json:"blind" doc:"Whether values are stored as keyed hashes."`
	Differs          []string `json:"differs" nullable:"false" doc:"The members that differ from the policy of all others."`
}

type policies struct {
	Policies []policyInfo `json:"policies" nullable:"false" doc:"By namespace; that of all others comes last."`
}

// others is the namespace of the policy of all others.
const others = "*"

// policies shows the policies of all types, and of the namespaces about which the caller may ask.
func (s *Server) policies(ctx context.Context, _ *struct{}) (*answer[policies], error) {
	if err := s.maySomewhere(ctx, access.Check); err != nil {
		return nil, err
	}
	var names []string
	if s.cfg.PolicyNames != nil {
		names = slices.Sorted(slices.Values(s.cfg.PolicyNames()))
	}
	unnamed := "other"
	for slices.Contains(names, unnamed) {
		unnamed += "-"
	}
	fallback, err := s.cfg.Registry.Policy(unnamed)
	if err != nil {
		return nil, err
	}
	rest := policyInfoOf(others, fallback)
	list := []policyInfo{}
	for _, name := range names {
		if strings.Contains(name, ".") && !callerOf(ctx).May(access.Check, name) {
			continue
		}
		policy, err := s.cfg.Registry.Policy(name)
		if err != nil {
			return nil, err
		}
		info := policyInfoOf(name, policy)
		info.Differs = differing(info, rest)
		list = append(list, info)
	}
	return ok(policies{append(list, rest)}), nil
}

func policyInfoOf(namespace string, p dibs.Policy) policyInfo {
	return policyInfo{
		Namespace: namespace, Profile: p.Profile.Name(),
		MinTTLMs: p.MinTTL.Milliseconds(), DefaultTTLMs: p.DefaultTTL.Milliseconds(), MaxTTLMs: p.MaxTTL.Milliseconds(),
		MaxHoldMs: p.MaxHold.Milliseconds(), MaxHolds: p.MaxHolds, HoldHistoryMs: p.HoldHistory.Milliseconds(), ManyPerEntity: p.ManyPerEntity,
		QuarantineMs: p.Quarantine.Milliseconds(), AliasRetentionMs: p.AliasRetention.Milliseconds(),
		RedirectStatus: p.RedirectStatus, ArchivedStatus: p.ArchivedStatus,
		ReservedWords: p.ReservedWords != nil, Witness: p.Witness != nil, LookAlikes: p.Skeleton != nil, Blind: len(p.Blind) > 0,
		Differs: []string{},
	}
}

// differing returns the members in which two policies differ.
func differing(a, b policyInfo) []string {
	names := []string{}
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		name := x.Type().Field(i).Tag.Get("json")
		if name != "namespace" && name != "differs" && x.Field(i).Interface() != y.Field(i).Interface() {
			names = append(names, name)
		}
	}
	return names
}
