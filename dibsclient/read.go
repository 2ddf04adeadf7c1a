package dibsclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

// into returns a call's read for an answer of type T, which use then makes sense of.
func into[T any](use func(T) error) func([]byte) error {
	return func(data []byte) error {
		var answer T
		if err := json.Unmarshal(data, &answer); err != nil {
			return err
		}
		return use(answer)
	}
}

// post asks a question whose values do not belong in a URL.
func post(name, path string, body any, read func([]byte) error) call {
	return call{name: name, method: http.MethodPost, path: path, body: body, read: read, repeats: true}
}

// get asks a question.
func get(name, path string, query url.Values, read func([]byte) error) call {
	return call{name: name, method: http.MethodGet, path: path, query: query, read: read, repeats: true}
}

type nameBody struct {
	Namespace string `json:"namespace"`
	Value     string `json:"value"`
}

type checkBody struct {
	Namespace string       `json:"namespace"`
	Values    []string     `json:"values"`
	Suggest   int          `json:"suggest,omitempty"`
	Parts     []string     `json:"parts,omitempty"`
	Entity    *wire.Entity `json:"entity,omitempty"`
}

// Check says whether values could be reserved.
func (c *client) Check(ctx context.Context, request dibs.CheckRequest) ([]dibs.Availability, error) {
	const most = 10
	body := checkBody{
		Namespace: request.Namespace, Values: append([]string{}, request.Values...),
		Suggest: max(0, min(request.Suggest, most)), Parts: request.Parts, Entity: wire.EntityOf(request.Entity),
	}
	type found struct {
		Results []wire.Availability `json:"results"`
	}
	var list []dibs.Availability
	err := c.do(ctx, post("check", "/v1/check", body, into(func(a found) error {
		if len(a.Results) != len(body.Values) {
			return fmt.Errorf("%d results for %d values", len(a.Results), len(body.Values))
		}
		list = make([]dibs.Availability, len(a.Results))
		for i, r := range a.Results {
			list[i] = r.Availability()
		}
		return nil
	})))
	return list, err
}

// Resolve says where a name leads. The server answers with the status that the name
// would be served with, and says the same in words.
func (c *client) Resolve(ctx context.Context, namespace, value string) (dibs.Resolution, error) {
	var where dibs.Resolution
	do := post("resolve", "/v1/resolve", nameBody{namespace, value}, into(func(a wire.Resolution) (err error) {
		if a.Outcome == "" {
			return errors.New("there is no outcome")
		}
		if where, err = a.Resolution(); err == nil && where.Outcome == dibs.ResolveMoved && where.To == nil {
			return errors.New("the name has moved to nowhere")
		}
		return err
	}))
	do.reads = func(status int) bool {
		return slices.Contains([]int{
			http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect,
			http.StatusNotFound, http.StatusGone,
		}, status)
	}
	err := c.do(ctx, do)
	return where, err
}

// Get returns a name by its ID, or by namespace and value.
func (c *client) Get(ctx context.Context, lookup dibs.Lookup) (dibs.Name, error) {
	var name dibs.Name
	read := into(func(a wire.Name) (err error) {
		name, err = a.Name()
		return err
	})
	do := get("get", "/v1/reservations/"+lookup.ID.String(), nil, read)
	if lookup.ID.IsZero() {
		do = post("lookup", "/v1/names/lookup", nameBody{lookup.Namespace, lookup.Value}, read)
	}
	if err := c.do(ctx, do); err != nil {
		return dibs.Name{}, err
	}
	if !lookup.Shows(name) {
		what := lookup.ID.String()
		if lookup.ID.IsZero() {
			what = "of " + name.Key()
		}
		return dibs.Name{}, &dibs.Error{Code: dibs.CodeNotFound, Message: "there is no reservation " + what}
	}
	return name, nil
}

// Entity returns an entity with its names.
func (c *client) Entity(ctx context.Context, scope string, entity dibs.Entity) (dibs.EntityInfo, error) {
	for _, part := range []struct{ what, text string }{{"type", entity.Type}, {"id", entity.ID}} {
		if part.text == "" { // there is no path without it
			return dibs.EntityInfo{}, &dibs.Error{Code: dibs.CodeInvalidEntity, Message: "the entity's " + part.what + " is empty"}
		}
	}
	var info dibs.EntityInfo
	path := "/v1/entities/" + segment(entity.Type) + "/" + segment(entity.ID)
	err := c.do(ctx, get("entity", path, params("scope", scope), into(func(a wire.EntityInfo) (err error) {
		info, err = a.EntityInfo()
		return err
	})))
	return info, err
}

// List returns a page of names.
func (c *client) List(ctx context.Context, query dibs.NamesQuery) (dibs.NamesPage, error) {
	var page dibs.NamesPage
	q := params(
		"namespace", query.Namespace, "state", string(query.State), "prefix", query.Prefix,
		"limit", pageSize(query.Limit), "cursor", query.Cursor,
	)
	err := c.do(ctx, get("list", "/v1/names", q, into(func(a wire.NamesPage) (err error) {
		page, err = a.NamesPage()
		return err
	})))
	return page, err
}

// Conflicts returns how many attempts were refused, and why.
func (c *client) Conflicts(ctx context.Context, query dibs.ConflictsQuery) ([]dibs.ConflictBucket, error) {
	type found struct {
		Buckets []wire.ConflictBucket `json:"buckets"`
	}
	var buckets []dibs.ConflictBucket
	q := params("namespace", query.Namespace, "from", wire.FormatTime(query.From), "to", wire.FormatTime(query.To))
	err := c.do(ctx, get("conflicts", "/v1/stats/conflicts", q, into(func(a found) error {
		buckets = nil
		for _, b := range a.Buckets {
			buckets = append(buckets, b.ConflictBucket())
		}
		return nil
	})))
	return buckets, err
}

// Stats counts the names there are. The server keeps the counts for a while.
func (c *client) Stats(ctx context.Context) (dibs.Stats, error) {
	var stats dibs.Stats
	err := c.do(ctx, get("stats", "/v1/stats", nil, into(func(a wire.Stats) error {
		stats = a.Stats()
		return nil
	})))
	return stats, err
}

// History returns all events of a name, oldest first.
func (c *client) History(ctx context.Context, namespace, value string) ([]dibs.Event, error) {
	var page dibs.EventPage
	err := c.do(ctx, post("history", "/v1/names/history", nameBody{namespace, value}, into(func(a wire.EventsPage) (err error) {
		page, err = a.EventPage()
		return err
	})))
	return page.Events, err
}

// WhoHeld returns who had a name at a moment.
func (c *client) WhoHeld(ctx context.Context, namespace, value string, at time.Time) (dibs.Holder, error) {
	if at.IsZero() {
		at = time.Unix(0, 0) // before all names, and not left out
	}
	type question struct {
		Namespace string `json:"namespace"`
		Value     string `json:"value"`
		At        string `json:"at"`
	}
	type found struct {
		Holder *wire.Holder `json:"holder"`
	}
	var holder dibs.Holder
	body := question{namespace, value, wire.FormatTime(at)}
	err := c.do(ctx, post("who held", "/v1/names/history", body, into(func(a found) error {
		if a.Holder == nil {
			return errors.New("there is no holder")
		}
		holder = a.Holder.Holder()
		return nil
	})))
	return holder, err
}
