package core

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

// maxActive bounds the namespaces that have counts of their own in one hour: a chart of a week
// reads one record for each of them and each hour. What happens in further namespaces counts for
// their tenant as a whole, and beyond as many tenants under overflow.
const maxActive = 256

// activityCounts counts committed events and refusals by namespace and minute, in memory between
// flushes: with a record for each, every commit would change the same few records.
type activityCounts struct {
	mu sync.Mutex
	// counts has the minutes that are not stored yet.
	counts map[minuteOf]*rules.Activity
	// active are the namespaces of this hour, with those that overflow.
	active map[string]bool
	latest dibs.Instant // the latest minute so far

	// busy has a token while counts move from memory to the store, or are read: a reader sees
	// each of them once.
	busy chan struct{}
}

// minuteOf is a namespace and a minute. Start 0 is not known yet: nothing so far had a time.
type minuteOf struct {
	namespace string
	start     dibs.Instant
}

func newActivityCounts() *activityCounts {
	return &activityCounts{
		counts: make(map[minuteOf]*rules.Activity), active: make(map[string]bool), busy: make(chan struct{}, 1),
	}
}

// noteCommit counts the events of committed groups.
func (a *activityCounts) noteCommit(now dibs.Instant, groups []dibs.Group, outcomes []dibs.Outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range groups {
		if outcomes[i] != dibs.Committed {
			continue
		}
		for j := range groups[i].Events {
			e := &groups[i].Events[j]
			a.minute(e.Namespace, now).Events[e.Kind]++
		}
	}
}

// noteRefusal counts a refusal. One without a time never reached the engine, and counts for the
// latest minute.
func (a *activityCounts) noteRefusal(namespace string, now dibs.Instant) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.minute(namespace, now).Refused++
}

// minute returns the counts of a namespace in an instant's minute.
func (a *activityCounts) minute(namespace string, at dibs.Instant) *rules.Activity {
	start := rules.StartOf(at, time.Minute)
	if rules.StartOf(start, time.Hour) > rules.StartOf(a.latest, time.Hour) {
		clear(a.active)
	}
	a.latest = max(a.latest, start)
	key := minuteOf{a.fit(namespace), cmp.Or(start, a.latest)}
	counts := a.counts[key]
	if counts == nil {
		counts = &rules.Activity{Namespace: key.namespace, Start: key.start, Events: make(map[dibs.EventKind]uint64)}
		a.counts[key] = counts
	}
	return counts
}

// fit returns the namespace under which counts fit: itself, its tenant, or overflow.
func (a *activityCounts) fit(namespace string) string {
	if a.active[namespace] {
		return namespace
	}
	if len(a.active) >= maxActive {
		tenant := tenantOf(namespace)
		namespace = tenant + "." + overflow
		if tenant == "" || !a.active[namespace] && len(a.active) >= 2*maxActive {
			return overflow
		}
	}
	a.active[namespace] = true
	return namespace
}

// drain returns the counts and resets them. Their order is always the same.
func (a *activityCounts) drain() []*rules.Activity {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := slices.SortedFunc(maps.Values(a.counts), compareActivity)
	clear(a.counts)
	return list
}

func compareActivity(a, b *rules.Activity) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Namespace, b.Namespace))
}

// restore takes back counts that could not be stored.
func (a *activityCounts) restore(counts *rules.Activity) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.minute(counts.Namespace, counts.Start).Add(*counts)
}

// pending returns copies of the counts that are not stored yet.
func (a *activityCounts) pending() []rules.Activity {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := make([]rules.Activity, 0, len(a.counts))
	for _, counts := range a.counts {
		c := *counts
		c.Events = maps.Clone(c.Events)
		list = append(list, c)
	}
	return list
}

// acquire waits until no counts are on their way to the store.
func (a *activityCounts) acquire(ctx context.Context) error {
	select {
	case a.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return dibs.Unavailable(ctx.Err())
	}
}

func (a *activityCounts) release() { <-a.busy }

// flushActivity stores the counts. It keeps those that it cannot store.
func (c *core) flushActivity(ctx context.Context) error {
	if err := c.activity.acquire(ctx); err != nil {
		return err
	}
	defer c.activity.release()
	counts := c.activity.drain()
	if len(counts) == 0 {
		return nil
	}
	now, failed := c.engineNow(ctx)
	if failed != nil {
		for _, minute := range counts {
			c.activity.restore(minute)
		}
		return failed
	}
	calls, errs := make([]*call, len(counts)), make([]*dibs.Error, len(counts))
	for i, minute := range counts { // the writer commits many of them together
		minute.Start = cmp.Or(minute.Start, rules.StartOf(now, time.Minute))
		calls[i] = newCall(rules.AddActivity(*minute).Request, true)
		errs[i] = c.send(ctx, calls[i])
	}
	for i, minute := range counts {
		err := errs[i]
		if err == nil {
			err = c.await(ctx, calls[i])
		}
		if err != nil {
			failed = err
			if err.Code != dibs.CodeOutcomeUnknown {
				c.activity.restore(minute)
			}
		}
	}
	return failed
}

// Activity returns how much happened: the counts of the store, with those of this process that are
// not stored yet.
func (c *core) Activity(ctx context.Context, query dibs.ActivityQuery) (dibs.Activity, error) {
	now, err := c.engineNow(ctx)
	if err != nil {
		return dibs.Activity{}, err
	}
	span, err := newActivitySpan(query, now)
	if err != nil {
		return dibs.Activity{}, err
	}
	if !c.IsBound() { // a flush may wait for the transaction of the caller
		if err := c.activity.acquire(ctx); err != nil {
			return dibs.Activity{}, err
		}
		defer c.activity.release()
	}
	stored, err := span.read(ctx, c.store)
	if err != nil {
		return dibs.Activity{}, err
	}
	for _, minute := range c.activity.pending() {
		minute.Start = cmp.Or(minute.Start, now)
		stored = append(stored, minute)
	}
	return span.sum(stored), nil
}

// activitySpan is the buckets that a query selects.
type activitySpan struct {
	namespace string // empty means all
	per       time.Duration
	first, to dibs.Instant // from the start of the first bucket to before the end
}

func newActivitySpan(query dibs.ActivityQuery, now dibs.Instant) (activitySpan, error) {
	s := activitySpan{namespace: query.Namespace, per: cmp.Or(query.Per, time.Minute)}
	if s.per != time.Minute && s.per != time.Hour {
		return s, &dibs.Error{Code: dibs.CodeInvalidValue, Message: fmt.Sprintf("activity is counted per minute and per hour, not per %v", s.per)}
	}
	if s.namespace != "" {
		if err := rules.CheckNamespace(s.namespace); err != nil {
			return s, err
		}
	}
	s.first = rules.StartOf(max(dibs.InstantOf(query.From), now.Add(-rules.ActivityKept(s.per))), s.per)
	s.to = now + 1
	if !query.To.IsZero() {
		s.to = min(dibs.InstantOf(query.To), s.to)
	}
	return s, nil
}

// read returns the stored counts. Those of one namespace have known addresses, and take one Load.
func (s activitySpan) read(ctx context.Context, store dibs.Store) (list []rules.Activity, err error) {
	if s.first >= s.to {
		return nil, nil
	}
	if s.namespace == "" {
		query := dibs.ListQuery{
			Kind: dibs.KindActivity, Limit: maxPage,
			From: rules.Activity{Start: s.first}.Label(s.per), To: rules.Activity{Start: s.to.Add(s.per - time.Millisecond)}.Label(s.per),
		}
		for doc, err := range listAll[*dibs.Document](ctx, store, query) {
			if err != nil {
				return nil, err
			}
			list = append(list, rules.ActivityOf(doc))
		}
		return list, nil
	}
	var refs []dibs.Ref
	for at := s.first; at < s.to; at = at.Add(s.per) {
		refs = append(refs, rules.Activity{Namespace: s.namespace, Start: at}.Ref(s.per))
	}
	loaded, err := store.Load(ctx, refs)
	for _, r := range loaded.Records {
		if doc, ok := r.(*dibs.Document); ok {
			list = append(list, rules.ActivityOf(doc))
		}
	}
	return list, err
}

// sum adds up counts by bucket and namespace, and leaves out those that the query does not select.
func (s activitySpan) sum(list []rules.Activity) dibs.Activity {
	sums := make(map[minuteOf]*rules.Activity)
	for _, counts := range list {
		key := minuteOf{counts.Namespace, rules.StartOf(counts.Start, s.per)}
		if key.start < s.first || key.start >= s.to || s.namespace != "" && s.namespace != key.namespace {
			continue
		}
		if sums[key] == nil {
			sums[key] = &rules.Activity{Namespace: key.namespace, Start: key.start}
		}
		sums[key].Add(counts)
	}
	return dibs.Activity{From: s.first.Time(), To: max(s.first, s.to-1).Time(), Buckets: bucketsOf(sums)}
}

// bucketsOf returns sums in the order of time and namespace.
func bucketsOf(sums map[minuteOf]*rules.Activity) (buckets []dibs.ActivityBucket) {
	for _, sum := range slices.SortedFunc(maps.Values(sums), compareActivity) {
		buckets = append(buckets, dibs.ActivityBucket{
			Start: sum.Start.Time(), Namespace: sum.Namespace, Events: sum.Events, Refused: sum.Refused,
		})
	}
	return buckets
}

// mergeActivity adds up the answers of several parts, whose clocks may differ.
func mergeActivity(parts []dibs.Activity) dibs.Activity {
	all := parts[0]
	sums := make(map[minuteOf]*rules.Activity)
	for _, part := range parts {
		if part.From.Before(all.From) {
			all.From = part.From
		}
		if part.To.After(all.To) {
			all.To = part.To
		}
		for _, b := range part.Buckets {
			key := minuteOf{b.Namespace, dibs.InstantOf(b.Start)}
			if sums[key] == nil {
				sums[key] = &rules.Activity{Namespace: key.namespace, Start: key.start}
			}
			sums[key].Add(rules.Activity{Events: b.Events, Refused: b.Refused})
		}
	}
	all.Buckets = bucketsOf(sums)
	return all
}
