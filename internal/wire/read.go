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
	Suggestions []string `json:"suggestions,omitempty" nullable:"false"`
	Refusal     *Refusal `json:"refusal,omitempty"`
}

// AvailabilityOf converts an availability.
func AvailabilityOf(a dibs.Availability) Availability {
	return Availability{
		Value: a.Value, Canonical: a.Canonical, Available: a.Available, Reason: string(a.Reason), Detail: a.Detail,
		Until: FormatTime(a.Until), Suggestions: a.Suggestions, Refusal: (*Refusal)(a.Refusal),
	}
}

// Availability returns the library's availability.
func (a Availability) Availability() dibs.Availability {
	return dibs.Availability{
		Value: a.Value, Canonical: a.Canonical, Available: a.Available, Reason: dibs.Reason(a.Reason), Detail: a.Detail,
		Until: ParseTime(a.Until), Suggestions: a.Suggestions, Refusal: (*dibs.Refusal)(a.Refusal),
	}
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
	Archived  bool    `json:"archived,omitempty" doc:"For a name that does not resolve, and a caller with the right to get it: its entity is archived."`
}

// ResolutionOf converts a resolution.
func ResolutionOf(r dibs.Resolution) Resolution {
	w := Resolution{
		Outcome: string(r.Outcome), Canonical: r.Canonical, Entity: EntityOf(r.Entity), Status: r.Status,
		Until: FormatTime(r.Until), AgeMs: AgeMs(r.Age), Active: optionalName(r.To), Archived: r.Archived,
	}
	if r.To != nil {
		w.To = r.To.Canonical
	}
	return w
}

// AgeMs returns an age in milliseconds, rounded up.
func AgeMs(age time.Duration) int64 { return (age + time.Millisecond - 1).Milliseconds() }

// Resolution returns the library's resolution.
func (r Resolution) Resolution() (dibs.Resolution, error) {
	v := dibs.Resolution{
		Outcome: dibs.ResolveOutcome(r.Outcome), Canonical: r.Canonical, Entity: r.Entity.Entity(), Status: r.Status,
		Until: ParseTime(r.Until), Age: Duration(r.AgeMs), Archived: r.Archived,
	}
	var err error
	v.To, err = r.Active.optional()
	return v, err
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
		Entity: Entity(e.Entity), Scope: e.Scope, Archived: e.Archived, Version: e.Version,
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
func NamesOf(names []dibs.Name) []Name { return ListOf(names, NameOf) }

func namesFrom(list []Name) ([]dibs.Name, error) { return listFrom(list, Name.Name) }

// ListOf converts the elements of a list. The result is never nil, because JSON would show null.
func ListOf[From, To any](list []From, convert func(From) To) []To {
	converted := make([]To, len(list))
	for i, element := range list {
		converted[i] = convert(element)
	}
	return converted
}

// listFrom converts the elements of a list that was received. The result of an empty list is nil.
func listFrom[From, To any](list []From, convert func(From) (To, error)) (converted []To, err error) {
	for _, element := range list {
		to, err := convert(element)
		if err != nil {
			return nil, err
		}
		converted = append(converted, to)
	}
	return converted, nil
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
func EventsOf(events []dibs.Event) []Event { return ListOf(events, EventOf) }

// EventPage returns the library's page.
func (p EventsPage) EventPage() (dibs.EventPage, error) {
	events, err := listFrom(p.Events, Event.Event)
	return dibs.EventPage{Events: events, Next: dibs.Cursor(p.NextCursor), More: p.More}, err
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
	return dibs.Holder{State: dibs.State(h.State), Entity: h.Entity.Entity(), Epoch: h.Epoch, Since: ParseTime(h.Since)}
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
	return dibs.ConflictBucket{Start: ParseTime(b.Start), Namespace: b.Namespace, Reason: b.Reason, Count: b.Count}
}

// Activity counts what happened, by namespace and minute or hour.
type Activity struct {
	Bucket  string           `json:"bucket" enum:"minute,hour" doc:"The length of a bucket."`
	From    string           `json:"from" format:"date-time" doc:"The start of the first bucket."`
	To      string           `json:"to" format:"date-time" doc:"The end of the span, or the engine's time now."`
	Buckets []ActivityBucket `json:"buckets" nullable:"false" doc:"By time and namespace. A bucket in which nothing happened is absent."`
}

// ActivityBucket counts what happened in one namespace, in one minute or hour.
type ActivityBucket struct {
	Start     string            `json:"start" format:"date-time"`
	Namespace string            `json:"namespace" doc:"Empty for events about an entity as a whole. With too many namespaces: acme.* for the rest of a scope, * for the rest." example:"slug"`
	Events    map[string]uint64 `json:"events" nullable:"false" doc:"The number of events by kind, such as reserved, confirmed and expired."`
	Refused   uint64            `json:"refused" doc:"The number of attempts that were refused."`
}

// ActivityOf converts counts per minute or hour.
func ActivityOf(a dibs.Activity, bucket string) Activity {
	return Activity{bucket, FormatTime(a.From), FormatTime(a.To), ListOf(a.Buckets, func(b dibs.ActivityBucket) ActivityBucket {
		w := ActivityBucket{FormatTime(b.Start), b.Namespace, make(map[string]uint64, len(b.Events)), b.Refused}
		for kind, n := range b.Events {
			w.Events[string(kind)] = n
		}
		return w
	})}
}

// Activity returns the library's counts.
func (a Activity) Activity() dibs.Activity {
	v := dibs.Activity{From: ParseTime(a.From), To: ParseTime(a.To)}
	for _, b := range a.Buckets {
		bucket := dibs.ActivityBucket{
			Start: ParseTime(b.Start), Namespace: b.Namespace, Events: make(map[dibs.EventKind]uint64, len(b.Events)), Refused: b.Refused,
		}
		for kind, n := range b.Events {
			bucket.Events[dibs.EventKind(kind)] = n
		}
		v.Buckets = append(v.Buckets, bucket)
	}
	return v
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

// Stats counts names.
type Stats struct {
	Names      []NameCount `json:"names" nullable:"false" doc:"The number of names by namespace and state."`
	EndingSoon int         `json:"endingSoon" doc:"Holds that end within a minute."`
	Suspects   int         `json:"suspects" doc:"Holds that wait for a witness."`
	TakenAt    string      `json:"takenAt,omitempty" format:"date-time" doc:"When they were counted."`
}

// NameCount is the number of names of a namespace in a state.
type NameCount struct {
	Namespace string `json:"namespace"`
	State     string `json:"state" enum:"held,suspect,active,alias,quarantined"`
	Count     int    `json:"count"`
}

// StatsOf converts counts that were taken at a moment.
func StatsOf(s dibs.Stats, taken time.Time) Stats {
	w := Stats{Names: make([]NameCount, len(s.Names)), EndingSoon: s.EndingSoon, TakenAt: FormatTime(taken)}
	for i, c := range s.Names {
		w.Names[i] = NameCount{c.Namespace, string(c.State), c.Count}
		if c.State == dibs.Suspect {
			w.Suspects += c.Count
		}
	}
	return w
}

// Stats returns the library's counts.
func (s Stats) Stats() dibs.Stats {
	v := dibs.Stats{EndingSoon: s.EndingSoon}
	for _, c := range s.Names {
		v.Names = append(v.Names, dibs.NameCount{Namespace: c.Namespace, State: dibs.State(c.State), Count: c.Count})
	}
	return v
}

// ForgetRequest says what to erase: a person, or one name.
type ForgetRequest struct {
	Scope     string  `json:"scope,omitempty" doc:"The entity's scope. Default: the empty scope." example:"acme"`
	Entity    *Entity `json:"entity,omitempty" doc:"The person. With a name: its required owner; absent for a name without an owner."`
	Namespace string  `json:"namespace,omitempty" doc:"The namespace of the one name to forget. Default: everything of the entity."`
	Value     string  `json:"value,omitempty" doc:"The one name to forget."`
	DryRun    bool    `json:"dryRun,omitempty" doc:"Only say what would be erased."`
	Scrub     bool    `json:"scrub,omitempty" doc:"Also remove all traces from the engine's files. Only SQLite supports it."`
}

// ForgetRequestOf converts a request.
func ForgetRequestOf(r dibs.ForgetRequest) ForgetRequest {
	return ForgetRequest{Scope: r.Scope, Entity: EntityOf(r.Entity), Namespace: r.Namespace, Value: r.Value, DryRun: r.DryRun, Scrub: r.Scrub}
}

// ForgetRequest returns the library's request.
func (r ForgetRequest) ForgetRequest() dibs.ForgetRequest {
	return dibs.ForgetRequest{Scope: r.Scope, Entity: r.Entity.Entity(), Namespace: r.Namespace, Value: r.Value, DryRun: r.DryRun, Scrub: r.Scrub}
}

// Forgetting is what was erased, or would be in a dry run.
type Forgetting struct {
	Erased   []Name `json:"erased" nullable:"false" doc:"Names that were erased, as they were; state and until say whether they are in quarantine now."`
	Redacted []Name `json:"redacted" nullable:"false" doc:"Names of others from whose history the person was removed."`
	Replayed bool   `json:"replayed" doc:"Whether there was nothing to erase."`
	Unknown  bool   `json:"unknown,omitempty" doc:"Whether there was nothing to erase because there is no trace of the entity or the name, not even a tombstone: it may be misspelt or in another scope."`
}

// ForgettingOf converts a report.
func ForgettingOf(f dibs.Forgetting) Forgetting {
	return Forgetting{Erased: NamesOf(f.Erased), Redacted: NamesOf(f.Redacted), Replayed: f.Replayed, Unknown: f.Unknown}
}

// Forgetting returns the library's report.
func (f Forgetting) Forgetting() (v dibs.Forgetting, err error) {
	v.Replayed, v.Unknown = f.Replayed, f.Unknown
	if v.Erased, err = namesFrom(f.Erased); err == nil {
		v.Redacted, err = namesFrom(f.Redacted)
	}
	return v, err
}

// Recanonicalization reports how new rules change the names of a namespace.
type Recanonicalization struct {
	Namespace string         `json:"namespace"`
	From      string         `json:"from,omitempty" doc:"The rules before; absent if none are recorded." example:"exact/1"`
	To        string         `json:"to" doc:"The rules of the policy." example:"slug/1"`
	Looked    int            `json:"looked" doc:"Names that are owned, held or suspect."`
	Done      int            `json:"done" doc:"Names changed to the new rules."`
	Counts    map[string]int `json:"counts" nullable:"false" doc:"The number of names by kind of finding."`
	Findings  []Finding      `json:"findings" nullable:"false" doc:"The first 1,000 names of each kind."`
}

// Finding is how new rules change one name.
type Finding struct {
	Kind string `json:"kind" enum:"change,merge,collision,invalid,look_alike,unfiled"`
	Name Name   `json:"name"`
	To   string `json:"to,omitempty" doc:"The new canonical form."`
	With *Name  `json:"with,omitempty" doc:"The other name of a merge, a collision or a look-alike."`
	Why  string `json:"why,omitempty" doc:"What is not valid."`
}

// RecanonicalizationOf converts a report.
func RecanonicalizationOf(r dibs.Recanonicalization) Recanonicalization {
	w := Recanonicalization{
		Namespace: r.Namespace, From: r.From, To: r.To, Looked: r.Looked, Done: r.Done,
		Counts: make(map[string]int, len(r.Counts)), Findings: ListOf(r.Findings, findingOf),
	}
	for kind, n := range r.Counts {
		w.Counts[string(kind)] = n
	}
	return w
}

func findingOf(f dibs.Finding) Finding {
	return Finding{Kind: string(f.Kind), Name: NameOf(f.Name), To: f.To, With: optionalName(f.With), Why: f.Why}
}

// Recanonicalization returns the library's report.
func (r Recanonicalization) Recanonicalization() (dibs.Recanonicalization, error) {
	v := dibs.Recanonicalization{
		Namespace: r.Namespace, From: r.From, To: r.To, Looked: r.Looked, Done: r.Done,
		Counts: make(map[dibs.FindingKind]int, len(r.Counts)),
	}
	for kind, n := range r.Counts {
		v.Counts[dibs.FindingKind(kind)] = n
	}
	var err error
	v.Findings, err = listFrom(r.Findings, Finding.finding)
	return v, err
}

func (f Finding) finding() (dibs.Finding, error) {
	name, err := f.Name.Name()
	if err != nil {
		return dibs.Finding{}, err
	}
	with, err := f.With.optional()
	return dibs.Finding{Kind: dibs.FindingKind(f.Kind), Name: name, To: f.To, With: with, Why: f.Why}, err
}
