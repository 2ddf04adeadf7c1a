package server

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/wire"
)

const (
	contestedHours = 24
	// maxContested bounds the names of one hour. Beyond, names that are seldom asked for lose
	// their place to those that are asked for often.
	maxContested    = 1024
	usualContested  = 10
	mostContested   = 100
	contestedFactor = 4 // of the limit: how many are looked up, since some may be hidden or forgotten
)

// contestedCounts counts, in memory, how often each name was asked for while it was taken. The names
// are not stored: a name that is forgotten must be gone.
type contestedCounts struct {
	mu    sync.Mutex
	hours map[int64]map[string]uint64 // by the hour since 1970: by key
}

// note counts a refusal, or each refusal that it consists of.
func (c *contestedCounts) note(err *dibs.Error, now time.Time) {
	for _, f := range err.Failures {
		c.note(f.Err, now)
	}
	if len(err.Failures) > 0 || err.Code != dibs.CodeNameTaken || err.Key == "" {
		return
	}
	hour := now.Unix() / 3600
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := c.hours[hour]
	if counts == nil {
		maps.DeleteFunc(c.hours, func(old int64, _ map[string]uint64) bool { return old <= hour-contestedHours })
		if c.hours == nil {
			c.hours = make(map[int64]map[string]uint64)
		}
		counts = make(map[string]uint64)
		c.hours[hour] = counts
	}
	if _, known := counts[err.Key]; known || len(counts) < maxContested {
		counts[err.Key]++
		return
	}
	for key := range counts { // each name pays with one of its own counts, so this is seldom
		if counts[key]--; counts[key] == 0 {
			delete(counts, key)
		}
	}
}

// most returns the names that were asked for most, at most n of those that a caller may see.
func (c *contestedCounts) most(n int, now time.Time, visible func(namespace string) bool) (keys []string, sums map[string]uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sums = make(map[string]uint64)
	for hour, counts := range c.hours {
		if hour <= now.Unix()/3600-contestedHours {
			continue
		}
		for key, count := range counts {
			if namespace, _, _ := strings.Cut(key, ":"); visible(namespace) {
				sums[key] += count
			}
		}
	}
	keys = slices.SortedFunc(maps.Keys(sums), func(a, b string) int {
		return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b))
	})
	return keys[:min(n, len(keys))], sums
}

func (s *Server) registerContested() {
	op := s.operation(http.MethodGet, "/v1/stats/contested", "contested", "List the names that were asked for most while they were taken", tagWatching, 422)
	op.Description = "Of the last day, as far as this server has refused them since its start, in the namespaces in which the caller has the right list."
	register(s, op, s.contested)
}

type contestedInput struct {
	Namespace string `query:"namespace" doc:"Default: all namespaces." example:"slug"`
	Limit     int    `query:"limit" minimum:"0" maximum:"100" doc:"Default: 10."`
}

type contested struct {
	Since string          `json:"since" format:"date-time" doc:"The start of the server, or a day ago."`
	Names []contestedName `json:"names" nullable:"false"`
}

type contestedName struct {
	Name  wire.Name `json:"name"`
	Count uint64    `json:"count" doc:"How many attempts were refused because it is taken."`
}

func (s *Server) contested(ctx context.Context, in *contestedInput) (*answer[contested], error) {
	if err := s.may(ctx, access.Stats, in.Namespace); err != nil {
		return nil, err
	}
	limit := min(cmp.Or(in.Limit, usualContested), mostContested)
	if p := s.chargePage(infoOf(ctx), limit*contestedFactor); p != nil {
		return nil, p
	}
	now := time.Now()
	caller := callerOf(ctx)
	visible := func(namespace string) bool {
		return (in.Namespace == "" || namespace == in.Namespace) && caller.May(access.List, namespace)
	}
	keys, sums := s.cfg.Metrics.contested.most(limit*contestedFactor, now, visible)
	since := now.Add(-contestedHours * time.Hour)
	if s.started.After(since) {
		since = s.started
	}
	list := contested{Since: wire.FormatTime(since), Names: []contestedName{}}
	for _, key := range keys {
		namespace, canonical, _ := strings.Cut(key, ":")
		name, err := s.registry(ctx).Get(ctx, dibs.Lookup{ID: dibs.NameID(namespace, canonical), Visible: visible})
		switch {
		case errors.Is(err, dibs.ErrNotFound), err == nil && name.Canonical != canonical: // purged or forgotten
			continue
		case err != nil:
			return nil, err
		}
		if list.Names = append(list.Names, contestedName{wire.NameOf(name), sums[key]}); len(list.Names) == limit {
			break
		}
	}
	return ok(list), nil
}
