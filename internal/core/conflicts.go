package core

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

const (
	// maxCounters bounds the different counters of one hour and tenant, and maxAllCounters
	// those of all tenants, in memory and so on disk: made-up namespaces cannot fill either,
	// nor take the counters of another tenant. What is beyond is counted by its tenant alone,
	// and for more than maxTenants of them under overflow.
	maxCounters    = 1024
	maxAllCounters = 4 * maxCounters
	maxTenants     = 1024
	overflow       = "*"

	flushEvery = 10 * time.Second
)

// conflictCounts counts refused attempts in memory until they are flushed: a row
// for each would let an attacker fill the disk.
type conflictCounts struct {
	mu sync.Mutex
	// counts has a tally without its Count, which is the value. Those of the present
	// hour stay after a flush, with nothing counted: they are what is bounded.
	counts map[rules.Tally]uint64
	taken  map[string]int // how many of them each tenant has
	hour   dibs.Instant   // the latest that was seen
}

// note counts a refusal, and each of its parts where it has several. One that never
// reached the engine, and so has no time, counts for the latest hour.
func (c *conflictCounts) note(err *dibs.Error, now dibs.Instant) {
	if len(err.Failures) > 0 {
		for _, f := range err.Failures {
			c.note(f.Err, now)
		}
		return
	}
	c.add(rules.Tally{Namespace: err.Namespace, Reason: reasonOf(err), Hour: rules.HourOf(now), Count: 1})
}

// reasonOf names the reason of a refusal: that of a taken name, else the code.
func reasonOf(err *dibs.Error) string {
	if err.Reason != "" {
		return string(err.Reason)
	}
	return strings.ToLower(string(err.Code))
}

func (c *conflictCounts) add(t rules.Tally) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts, c.taken = make(map[rules.Tally]uint64), make(map[string]int)
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
			c.taken[tenantOf(key.Namespace)]++
		}
	}
	c.counts[key] += t.Count
}

// begin drops the counters of past hours that were flushed.
func (c *conflictCounts) begin(hour dibs.Instant) {
	c.hour = hour
	maps.DeleteFunc(c.counts, func(_ rules.Tally, n uint64) bool { return n == 0 })
	clear(c.taken)
	for key := range c.counts {
		c.taken[tenantOf(key.Namespace)]++
	}
}

// fit returns what a new counter is to be counted as: itself, its tenant, or overflow.
func (c *conflictCounts) fit(key rules.Tally) rules.Tally {
	tenant := tenantOf(key.Namespace)
	if c.taken[tenant] < maxCounters && len(c.counts) < maxAllCounters {
		return key
	}
	all := rules.Tally{Namespace: overflow, Reason: overflow, Hour: key.Hour}
	if tenant == "" || len(c.counts) >= maxAllCounters+maxTenants {
		return all
	}
	all.Namespace = tenant + "." + overflow
	return all
}

// tenantOf returns the outermost scope of a namespace: a caller that is granted a scope can
// make up any number of scopes below it. Namespaces without a scope are one tenant's.
func tenantOf(namespace string) string {
	tenant, _, scoped := strings.Cut(namespace, ".")
	if !scoped {
		return ""
	}
	return tenant
}

// drain takes what was counted, in a steady order.
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

// flushConflicts stores what was counted. What cannot be stored now is counted on.
func (c *core) flushConflicts(ctx context.Context) error {
	tallies := c.conflicts.drain()
	if len(tallies) == 0 {
		return nil
	}
	now, err := c.engineNow(ctx)
	for i, t := range tallies {
		if err != nil {
			c.conflicts.add(t)
			continue
		}
		if t.Hour == 0 {
			t.Hour = rules.HourOf(now) // refused before the engine was asked for the time
		}
		if _, e := perform(ctx, c, rules.AddTally(t, t.Hour.Add(c.cfg.ConflictHistory))); e != nil {
			err = e
			if e.Code != dibs.CodeOutcomeUnknown {
				c.conflicts.add(tallies[i])
			}
		}
	}
	return err
}

func (c *core) Conflicts(ctx context.Context, query dibs.ConflictsQuery) ([]dibs.ConflictBucket, error) {
	// Not into a transaction of the caller's: its rollback would lose them.
	if c.writer != nil {
		if err := c.flushConflicts(ctx); err != nil {
			return nil, err
		}
	}
	list := dibs.ListQuery{Kind: dibs.KindTally, Limit: listPage}
	if !query.From.IsZero() {
		list.From = rules.HourLabel(dibs.InstantOf(query.From))
	}
	if !query.To.IsZero() {
		list.To = rules.HourLabel(dibs.InstantOf(query.To).Add(time.Hour - time.Millisecond))
	}
	var buckets []dibs.ConflictBucket
	for {
		records, err := c.store.List(ctx, list)
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			doc, ok := r.(*dibs.Document)
			var t rules.Tally
			if !ok || json.Unmarshal(doc.Data, &t) != nil {
				continue
			}
			if query.Namespace == "" || query.Namespace == t.Namespace {
				buckets = append(buckets, dibs.ConflictBucket{Start: t.Hour.Time(), Namespace: t.Namespace, Reason: t.Reason, Count: t.Count})
			}
			list.After = &dibs.ListPosition{Label: doc.Label}
		}
		if len(records) < list.Limit {
			return buckets, nil
		}
	}
}
