package core

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/backoff"
	"github.com/calldibs/dibs/internal/rules"
)

const (
	// maxCounters bounds the counters of one hour and tenant, and maxAllCounters those of all
	// tenants, in memory and so on disk: made-up namespaces can neither fill them nor use up
	// the counters of another tenant. A refusal beyond a bound counts for its tenant as a
	// whole, and beyond maxTenants such tenants under overflow.
	maxCounters    = 1024
	maxAllCounters = 4 * maxCounters
	maxTenants     = 1024
	overflow       = "*"

	flushEvery = 10 * time.Second
)

// conflictCounts counts refusals in memory between flushes: with a record for each refusal an
// attacker could fill the disk.
type conflictCounts struct {
	mu sync.Mutex
	// counts has tallies without their Count as keys. Tallies of the present hour stay after a
	// flush, with the count 0, so that the bounds hold for the whole hour.
	counts    map[rules.Tally]uint64
	perTenant map[string]int // how many keys of counts each tenant has
	hour      dibs.Instant   // the latest hour so far
}

// noteRefusal counts a refusal, or each refusal that it consists of.
func (c *core) noteRefusal(err *dibs.Error, now dibs.Instant) {
	for _, f := range err.Failures {
		c.noteRefusal(f.Err, now)
	}
	if len(err.Failures) == 0 {
		c.conflicts.note(err, now)
		c.activity.noteRefusal(err.Namespace, now)
	}
}

// note counts a refusal. A refusal without a time, which never reached the engine, counts for the
// latest hour.
func (c *conflictCounts) note(err *dibs.Error, now dibs.Instant) {
	reason := string(err.Reason)
	if reason == "" {
		reason = strings.ToLower(string(err.Code))
	}
	c.add(rules.Tally{Namespace: err.Namespace, Reason: reason, Hour: rules.StartOf(now, time.Hour), Count: 1})
}

func (c *conflictCounts) add(t rules.Tally) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts, c.perTenant = make(map[rules.Tally]uint64), make(map[string]int)
	}
	if t.Hour > c.hour {
		c.begin(t.Hour)
	}
	t.Hour = cmp.Or(t.Hour, c.hour)
	key := t
	key.Count = 0
	if _, known := c.counts[key]; !known {
		key = c.fit(key)
		if _, known := c.counts[key]; !known {
			c.perTenant[tenantOf(key.Namespace)]++
		}
	}
	c.counts[key] += t.Count
}

// begin begins an hour: it drops the counters of past hours that were flushed.
func (c *conflictCounts) begin(hour dibs.Instant) {
	c.hour = hour
	maps.DeleteFunc(c.counts, func(_ rules.Tally, n uint64) bool { return n == 0 })
	clear(c.perTenant)
	for key := range c.counts {
		c.perTenant[tenantOf(key.Namespace)]++
	}
}

// fit returns the key under which a new counter fits: its own, that of its tenant, or overflow.
func (c *conflictCounts) fit(key rules.Tally) rules.Tally {
	tenant := tenantOf(key.Namespace)
	if c.perTenant[tenant] < maxCounters && len(c.counts) < maxAllCounters {
		return key
	}
	all := rules.Tally{Namespace: overflow, Reason: overflow, Hour: key.Hour}
	if tenant == "" || len(c.counts) >= maxAllCounters+maxTenants {
		return all
	}
	all.Namespace = tenant + "." + overflow
	return all
}

// tenantOf returns the outermost scope of a namespace: a caller with rights in a scope can make
// up any number of scopes below it. Namespaces without a scope count as one tenant.
func tenantOf(namespace string) string {
	tenant, _, _ := strings.Cut(dibs.ScopeOf(namespace), ".")
	return tenant
}

// drain returns the counts and resets them. The order of the tallies is always the same.
func (c *conflictCounts) drain() []rules.Tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	var tallies []rules.Tally
	for t, n := range c.counts {
		if n > 0 {
			c.counts[t] = 0
			t.Count = n
			tallies = append(tallies, t)
		}
	}
	slices.SortFunc(tallies, func(a, b rules.Tally) int { return cmp.Compare(a.Label(), b.Label()) })
	return tallies
}

// flushOften stores the counters from time to time, until the context ends.
func (c *core) flushOften(ctx context.Context) {
	for backoff.Sleep(ctx, flushEvery) == nil {
		if err := c.flush(ctx); err != nil && ctx.Err() == nil {
			c.warnNotFlushed(err)
		}
	}
}

func (c *core) warnNotFlushed(err error) {
	c.cfg.Logger.Warn("dibs: could not store the counters of conflicts and activity", "error", err)
}

// flush stores the counters. It keeps those that it cannot store.
func (c *core) flush(ctx context.Context) error {
	return errors.Join(c.flushConflicts(ctx), c.flushActivity(ctx))
}

// flushConflicts stores the conflict counters. It keeps those that it cannot store.
func (c *core) flushConflicts(ctx context.Context) error {
	tallies := c.conflicts.drain()
	if len(tallies) == 0 {
		return nil
	}
	var err error
	for i, t := range tallies {
		if t.Hour == 0 && err == nil { // no refusal so far had a time
			var now dibs.Instant
			now, err = c.engineNow(ctx)
			t.Hour = rules.StartOf(now, time.Hour)
		}
		if err != nil {
			c.conflicts.add(tallies[i])
			continue
		}
		if _, e := perform(ctx, c, rules.AddTally(t, t.Hour.Add(c.cfg.ConflictHistory)), true); e != nil {
			err = e
			if e.Code != dibs.CodeOutcomeUnknown {
				c.conflicts.add(tallies[i])
			}
		}
	}
	return err
}

func (c *core) Conflicts(ctx context.Context, query dibs.ConflictsQuery) ([]dibs.ConflictBucket, error) {
	if !c.IsBound() { // a rollback of the caller's transaction would lose the counters
		if err := c.flushConflicts(ctx); err != nil {
			return nil, err
		}
	}
	list := dibs.ListQuery{Kind: dibs.KindTally, Limit: maxPage}
	if query.Namespace != "" {
		list.Limit = defaultPage // between the hours of one namespace there is much to skip
	}
	if !query.From.IsZero() {
		list.From = rules.HourLabel(dibs.InstantOf(query.From))
	}
	if !query.To.IsZero() {
		list.To = rules.HourLabel(dibs.InstantOf(query.To).Add(time.Hour - time.Millisecond))
	}
	var buckets []dibs.ConflictBucket
	for more := true; more; {
		var docs []*dibs.Document
		var err error
		if docs, more, err = listPage[*dibs.Document](ctx, c.store, &list); err != nil {
			return nil, err
		}
		for _, doc := range docs {
			var t rules.Tally
			if json.Unmarshal(doc.Data, &t) == nil && (query.Namespace == "" || query.Namespace == t.Namespace) {
				buckets = append(buckets, dibs.ConflictBucket{Start: t.Hour.Time(), Namespace: t.Namespace, Reason: t.Reason, Count: t.Count})
			}
		}
		if more && query.Namespace != "" {
			list.From = max(list.From, rules.SkipTallies(list.After.Label, query.Namespace))
		}
	}
	return buckets, nil
}
