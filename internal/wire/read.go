package wire

import (
	"time"

	"github.com/calldibs/dibs"
)

// Availability says whether a value could be reserved at the time of the check.
type Availability struct {
	Value       string   `json:"value"`
	Canonical   string   `json:"canonical,omitempty"`
	Available   bool     `json:"available"`
	Reason      string   `json:"reason,omitempty" enum:"held,in_use,suspect,quarantined,reserved_word,invalid,confusable"`
	Detail      string   `json:"detail,omitempty"`
	Until       string   `json:"until,omitempty" format:"date-time"`
	Suggestions []string `json:"suggestions,omitempty"`
	Refusal     *Refusal `json:"refusal,omitempty"`
}

// AvailabilityOf converts an availability.
func AvailabilityOf(a dibs.Availability) Availability {
	w := Availability{
		Value: a.Value, Canonical: a.Canonical, Available: a.Available, Reason: string(a.Reason), Detail: a.Detail,
		Until: FormatTime(a.Until), Suggestions: a.Suggestions,
	}
	if r := a.Refusal; r != nil {
		w.Refusal = &Refusal{r.Rule, r.Problem, r.At, r.Try}
	}
	return w
}

// Availability returns the library's availability.
func (a Availability) Availability() dibs.Availability {
	v := dibs.Availability{
		Value: a.Value, Canonical: a.Canonical, Available: a.Available, Reason: dibs.Reason(a.Reason), Detail: a.Detail,
		Until: parseTime(a.Until), Suggestions: a.Suggestions,
	}
	if r := a.Refusal; r != nil {
		v.Refusal = &dibs.Refusal{Rule: r.Rule, Problem: r.Problem, At: r.At, Try: r.Try}
	}
	return v
}

// Resolution is the target of a name.
type Resolution struct {
	Outcome   string  `json:"outcome" enum:"active,moved,gone,not_found"`
	Canonical string  `json:"canonical,omitempty"`
	Entity    *Entity `json:"entity,omitempty"`
	To        string  `json:"to,omitempty" doc:"For a moved name: the canonical form of the active name."`
	Active    *Name   `json:"active,omitempty" doc:"For a moved name: the active name."`
	Status    int     `json:"status" doc:"The status that the namespace's policy sets."`
	Until     string  `json:"until,omitempty" format:"date-time" doc:"When this ends, if it does: an alias may have a limited lifetime."`
	AgeMs     int64   `json:"ageMs,omitempty" doc:"The maximum age of an answer from the server's cache."`
}

// ResolutionOf converts a resolution.
func ResolutionOf(r dibs.Resolution) Resolution {
	w := Resolution{
		Outcome: string(r.Outcome), Canonical: r.Canonical, Entity: EntityOf(r.Entity), Status: r.Status,
		Until: FormatTime(r.Until), AgeMs: AgeMs(r.Age),
	}
	if r.To != nil {
		active := NameOf(*r.To)
		w.To, w.Active = r.To.Canonical, &active
	}
	return w
}

// AgeMs returns an age in milliseconds, rounded up.
func AgeMs(age time.Duration) int64 { return (age + time.Millisecond - 1).Milliseconds() }

// Resolution returns the library's resolution.
func (r Resolution) Resolution() (dibs.Resolution, error) {
	v := dibs.Resolution{
		Outcome: dibs.ResolveOutcome(r.Outcome), Canonical: r.Canonical, Entity: r.Entity.Entity(), Status: r.Status,
		Until: parseTime(r.Until), Age: Duration(r.AgeMs),
	}
	if r.Active != nil {
		to, err := r.Active.Name()
		if err != nil {
			return dibs.Resolution{}, err
		}
		v.To = &to
	}
	return v, nil
}

// EntityInfo is an entity with its names.
type EntityInfo struct {
	Entity   Entity `json:"entity"`
	Scope    string `json:"scope,omitempty"`
	Archived bool   `json:"archived"`
	Version  uint64 `json:"version"`
	Names    []Name `json:"names" nullable:"false"`
	More     bool   `json:"more,omitempty" doc:"There are more names: list its namespaces to see them."`
}

// EntityInfoOf converts an entity.
func EntityInfoOf(e dibs.EntityInfo) EntityInfo {
	return EntityInfo{
		Entity: Entity{e.Entity.Type, e.Entity.ID}, Scope: e.Scope, Archived: e.Archived, Version: e.Version,
		Names: NamesOf(e.Names), More: e.More,
	}
}

// EntityInfo returns the library's entity.
func (e EntityInfo) EntityInfo() (dibs.EntityInfo, error) {
	names, err := namesFrom(e.Names)
	return dibs.EntityInfo{
		Entity: e.Entity.Entity(), Scope: e.Scope, Archived: e.Archived, Version: e.Version, Names: names, More: e.More,
	}, err
}

// NamesOf converts names.
func NamesOf(names []dibs.Name) []Name {
	list := make([]Name, len(names))
	for i, n := range names {
		list[i] = NameOf(n)
	}
	return list
}

func namesFrom(list []Name) ([]dibs.Name, error) {
	if len(list) == 0 {
		return nil, nil
	}
	names := make([]dibs.Name, len(list))
	for i, n := range list {
		var err error
		if names[i], err = n.Name(); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// NamesPage is a page of a listing.
type NamesPage struct {
	Names      []Name `json:"names" nullable:"false"`
	NextCursor string `json:"nextCursor,omitempty" doc:"The cursor of the next page; absent on the last page."`
}

// NamesPage returns the library's page.
func (p NamesPage) NamesPage() (dibs.NamesPage, error) {
	names, err := namesFrom(p.Names)
	return dibs.NamesPage{Names: names, Next: p.NextCursor}, err
}

// EventsPage is a page of the feed, or the history of a name.
type EventsPage struct {
	Events     []Event `json:"events" nullable:"false"`
	NextCursor string  `json:"nextCursor" doc:"Resume here, even if the page is empty."`
	More       bool    `json:"more,omitempty" doc:"The feed continues after this page. The page may be empty: one call scans at most 1,000 events to find those of a namespace."`
}

// EventsPageOf converts a page of the feed.
func EventsPageOf(p dibs.EventPage) EventsPage {
	return EventsPage{Events: EventsOf(p.Events), NextCursor: string(p.Next), More: p.More}
}

// EventsOf converts events.
func EventsOf(events []dibs.Event) []Event {
	list := make([]Event, len(events))
	for i, e := range events {
		list[i] = EventOf(e)
	}
	return list
}

// EventPage returns the library's page.
func (p EventsPage) EventPage() (dibs.EventPage, error) {
	page := dibs.EventPage{Next: dibs.Cursor(p.NextCursor), More: p.More}
	for _, e := range p.Events {
		event, err := e.Event()
		if err != nil {
			return dibs.EventPage{}, err
		}
		page.Events = append(page.Events, event)
	}
	return page, nil
}

// Holder is the state and the owner of a name at a moment.
type Holder struct {
	State  string  `json:"state" enum:"free,held,suspect,active,alias,quarantined"`
	Entity *Entity `json:"entity,omitempty"`
	Epoch  uint64  `json:"epoch,omitempty"`
	Since  string  `json:"since,omitempty" format:"date-time"`
}

// HolderOf converts a holder.
func HolderOf(h dibs.Holder) Holder {
	return Holder{string(h.State), EntityOf(h.Entity), h.Epoch, FormatTime(h.Since)}
}

// Holder returns the library's holder.
func (h Holder) Holder() dibs.Holder {
	return dibs.Holder{State: dibs.State(h.State), Entity: h.Entity.Entity(), Epoch: h.Epoch, Since: parseTime(h.Since)}
}

// ConflictBucket counts the conflicts of one namespace, reason and hour.
type ConflictBucket struct {
	Start     string `json:"start" format:"date-time"`
	Namespace string `json:"namespace"`
	Reason    string `json:"reason"`
	Count     uint64 `json:"count"`
}

// ConflictBucketOf converts a bucket.
func ConflictBucketOf(b dibs.ConflictBucket) ConflictBucket {
	return ConflictBucket{FormatTime(b.Start), b.Namespace, b.Reason, b.Count}
}

// ConflictBucket returns the library's bucket.
func (b ConflictBucket) ConflictBucket() dibs.ConflictBucket {
	return dibs.ConflictBucket{Start: parseTime(b.Start), Namespace: b.Namespace, Reason: b.Reason, Count: b.Count}
}

// SweepReport is the result of a sweep.
type SweepReport struct {
	Looked   int   `json:"looked"`
	Changed  int   `json:"changed"`
	Suspects int   `json:"suspects"`
	Settled  int   `json:"settled"`
	More     bool  `json:"more"`
	TookMs   int64 `json:"tookMs"`
}

// SweepReportOf converts a report.
func SweepReportOf(r dibs.SweepReport) SweepReport {
	return SweepReport{r.Looked, r.Changed, r.Suspects, r.Settled, r.More, r.Took.Milliseconds()}
}

// SweepReport returns the library's report.
func (r SweepReport) SweepReport() dibs.SweepReport {
	return dibs.SweepReport{
		Looked: r.Looked, Changed: r.Changed, Suspects: r.Suspects, Settled: r.Settled, More: r.More,
		Took: Duration(r.TookMs),
	}
}
