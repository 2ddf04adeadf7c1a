package dibsclient

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

// nameBody is the body of calls about a name. Older servers refuse members that they do
// not know, so unset ones are not sent.
type nameBody struct {
	Namespace string `json:"namespace"`
	Value     string `json:"value"`
	Limit     int    `json:"limit,omitempty"`
	Cursor    string `json:"cursor,omitempty"`
	At        string `json:"at,omitempty"`
}

type checkBody struct {
	Namespace string       `json:"namespace"`
	Values    []string     `json:"values"`
	Suggest   int          `json:"suggest,omitempty"`
	Parts     []string     `json:"parts,omitempty"`
	Entity    *wire.Entity `json:"entity,omitempty"`
}

// Check reports whether values could be reserved.
func (c *client) Check(ctx context.Context, request dibs.CheckRequest) ([]dibs.Availability, error) {
	const maxSuggest = 10
	body := checkBody{
		Namespace: request.Namespace, Values: append([]string{}, request.Values...),
		Suggest: max(0, min(request.Suggest, maxSuggest)), Parts: request.Parts, Entity: wire.EntityOf(request.Entity),
	}
	type results struct {
		Results []wire.Availability `json:"results"`
	}
	return fetch(ctx, c, post("check", "/v1/check", body), func(w results) ([]dibs.Availability, error) {
		if len(w.Results) != len(body.Values) {
			return nil, fmt.Errorf("%d results for %d values", len(w.Results), len(body.Values))
		}
		return wire.ListOf(w.Results, wire.Availability.Availability), nil
	})
}

// Resolve returns where a name leads. The server responds with the status that a request
// for the name would get, and with the same in JSON.
func (c *client) Resolve(ctx context.Context, namespace, value string) (dibs.Resolution, error) {
	do := post("resolve", "/v1/resolve", nameBody{Namespace: namespace, Value: value})
	do.anyStatus = true
	return fetch(ctx, c, do, func(w wire.Resolution) (dibs.Resolution, error) {
		if w.Outcome == "" {
			return dibs.Resolution{}, errors.New("the outcome is missing")
		}
		resolution, err := w.Resolution()
		if err == nil && resolution.Outcome == dibs.ResolveMoved && resolution.To == nil {
			err = errors.New("the name has moved, and its new name is missing")
		}
		return resolution, err
	})
}

// Get returns a name by its ID, or by namespace and value.
func (c *client) Get(ctx context.Context, lookup dibs.Lookup) (dibs.Name, error) {
	do := get("get", "/v1/reservations/"+lookup.ID.String(), nil)
	if lookup.ID.IsZero() {
		do = post("lookup", "/v1/names/lookup", nameBody{Namespace: lookup.Namespace, Value: lookup.Value})
	}
	name, err := fetch(ctx, c, do, wire.Name.Name)
	if err != nil || lookup.Shows(name) {
		return name, err
	}
	what := lookup.ID.String()
	if lookup.ID.IsZero() {
		what = "of " + name.Key()
	}
	return dibs.Name{}, &dibs.Error{Code: dibs.CodeNotFound, Message: "there is no reservation " + what}
}

// Entity returns an entity with its names.
func (c *client) Entity(ctx context.Context, scope string, entity dibs.Entity) (dibs.EntityInfo, error) {
	for _, part := range []struct{ what, text string }{{"type", entity.Type}, {"id", entity.ID}} {
		if part.text == "" { // the path requires it
			return dibs.EntityInfo{}, &dibs.Error{Code: dibs.CodeInvalidEntity, Message: "the entity's " + part.what + " is empty"}
		}
	}
	path := "/v1/entities/" + pathSegment(entity.Type) + "/" + pathSegment(entity.ID)
	return fetch(ctx, c, get("entity", path, params("scope", scope)), wire.EntityInfo.EntityInfo)
}

// List returns a page of names.
func (c *client) List(ctx context.Context, query dibs.NamesQuery) (dibs.NamesPage, error) {
	q := params(
		"namespace", query.Namespace, "state", string(query.State), "prefix", query.Prefix,
		"limit", pageSize(query.Limit), "cursor", query.Cursor,
	)
	if query.EndingWithin != 0 {
		q.Set("endingWithinMs", strconv.FormatInt(query.EndingWithin.Milliseconds(), 10))
	}
	return fetch(ctx, c, get("list", "/v1/names", q), wire.NamesPage.NamesPage)
}

// Conflicts returns how many attempts were refused, and why.
func (c *client) Conflicts(ctx context.Context, query dibs.ConflictsQuery) ([]dibs.ConflictBucket, error) {
	type results struct {
		Buckets []wire.ConflictBucket `json:"buckets"`
	}
	q := params("namespace", query.Namespace, "from", wire.FormatTime(query.From), "to", wire.FormatTime(query.To))
	return fetch(ctx, c, get("conflicts", "/v1/stats/conflicts", q), func(w results) (buckets []dibs.ConflictBucket, _ error) {
		for _, b := range w.Buckets {
			buckets = append(buckets, b.ConflictBucket())
		}
		return buckets, nil
	})
}

// Activity returns how much happened, by namespace and minute or hour.
func (c *client) Activity(ctx context.Context, query dibs.ActivityQuery) (dibs.Activity, error) {
	bucket := "minute"
	switch query.Per {
	case 0, time.Minute:
	case time.Hour:
		bucket = "hour"
	default:
		return dibs.Activity{}, &dibs.Error{
			Code: dibs.CodeInvalidValue, Message: fmt.Sprintf("activity is counted per minute and per hour, not per %v", query.Per),
		}
	}
	from := query.From
	if from.IsZero() {
		from = time.Unix(0, 0) // the server would leave out what is older than the last hour or week
	}
	q := params("namespace", query.Namespace, "bucket", bucket, "from", wire.FormatTime(from), "to", wire.FormatTime(query.To))
	return fetch(ctx, c, get("activity", "/v1/stats/activity", q), func(w wire.Activity) (dibs.Activity, error) { return w.Activity(), nil })
}

// Stats counts the names. The server caches the counts for a while.
func (c *client) Stats(ctx context.Context) (dibs.Stats, error) {
	return fetch(ctx, c, get("stats", "/v1/stats", nil), func(w wire.Stats) (dibs.Stats, error) { return w.Stats(), nil })
}

// History returns a page of the events of a name.
func (c *client) History(ctx context.Context, query dibs.HistoryQuery) (dibs.HistoryPage, error) {
	body := nameBody{Namespace: query.Namespace, Value: query.Value, Limit: min(max(query.Limit, 0), maxPerPage), Cursor: query.Cursor}
	page, err := fetch(ctx, c, post("history", "/v1/names/history", body), wire.EventsPage.EventPage)
	return dibs.HistoryPage{Events: page.Events, Next: string(page.Next)}, err
}

// WhoHeld returns the holder of a name at a moment.
func (c *client) WhoHeld(ctx context.Context, namespace, value string, at time.Time) (dibs.Holder, error) {
	if at.IsZero() {
		at = time.Unix(0, 0) // older than all names; the zero time would be left out
	}
	type result struct {
		Holder *wire.Holder `json:"holder"`
	}
	body := nameBody{Namespace: namespace, Value: value, At: wire.FormatTime(at)}
	return fetch(ctx, c, post("who held", "/v1/names/history", body), func(w result) (dibs.Holder, error) {
		if w.Holder == nil {
			return dibs.Holder{}, errors.New("the holder is missing")
		}
		return w.Holder.Holder(), nil
	})
}

// Sweep ends what is due. It is repeatable: a second sweep does no harm.
func (c *client) Sweep(ctx context.Context, limit int) (dibs.SweepReport, error) {
	do := post("sweep", "/v1/sweep", map[string]int{"limit": limit})
	do.unbounded = true
	return fetch(ctx, c, do, func(w wire.SweepReport) (dibs.SweepReport, error) { return w.SweepReport(), nil })
}

// operate describes a change without a time limit. Only its dry run is repeatable.
func operate(name, path string, body any, dryRun bool) call {
	do := post(name, path, body)
	do.changes, do.repeatable, do.unbounded = !dryRun, dryRun, true
	return do
}

// Recanonicalize applies the present rules of a namespace to its names. If names prevent
// that, it returns the report together with the error.
func (c *client) Recanonicalize(ctx context.Context, request dibs.RecanonicalizeRequest) (dibs.Recanonicalization, error) {
	type body struct {
		Namespace string `json:"namespace"`
		DryRun    bool   `json:"dryRun,omitempty"`
	}
	var problem wire.Problem
	do := operate("recanonicalize", "/v1/recanonicalize", body{request.Namespace, request.DryRun}, request.DryRun)
	do.problem = &problem
	report, err := fetch(ctx, c, do, wire.Recanonicalization.Recanonicalization)
	if problem.Report != nil {
		report, _ = problem.Report.Recanonicalization() // err says what is wrong
	}
	if err == nil && request.Progress != nil {
		request.Progress(report.Done, report.Looked)
	}
	return report, err
}

// Forget erases an entity or a name. A second attempt would do no harm, but its report
// would not contain what the first one erased: so it is not repeatable.
func (c *client) Forget(ctx context.Context, request dibs.ForgetRequest) (dibs.Forgetting, error) {
	do := operate("forget", "/v1/forget", wire.ForgetRequestOf(request), request.DryRun)
	return fetch(ctx, c, do, wire.Forgetting.Forgetting)
}

// pathSegment escapes a text as one segment of a path. Proxies would take a segment of dots
// for a relative path.
func pathSegment(text string) string {
	if text == "." || text == ".." {
		return strings.ReplaceAll(text, ".", "%2E")
	}
	return url.PathEscape(text)
}

// params returns a query of pairs of name and value, without those whose value is empty.
func params(pairs ...string) url.Values {
	q := make(url.Values)
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

// pageSize formats a limit as the library defines it: zero or less means the default, and
// too many means the maximum.
func pageSize(limit int) string {
	if limit <= 0 {
		return ""
	}
	return strconv.Itoa(min(limit, maxPerPage))
}
