package model_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsclient"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/internal/server"
)

// remote is a registry behind a server and a client. Every request also goes to the
// registry directly, and both answers must be equal.
type remote struct {
	t       *rapid.T
	kept    *dibs.Registry
	handler http.Handler
}

// serve puts a registry behind a server.
func (w *world) serve(kept *dibs.Registry, store dibs.Store) *dibs.Registry {
	handler := server.New(server.Config{Registry: kept, Store: store, Authenticate: callerOf})
	return dibs.NewRegistry(&remote{w.t, kept, handler})
}

// callerOf authenticates a principal by its key, which is its name.
func callerOf(_ context.Context, key string) (access.Caller, error) {
	if key == "" {
		return access.Everything, nil // like a program that embeds a registry
	}
	verbs := []access.Verb{access.Read, access.Watch, access.Hold, access.Own, access.Import}
	if key == bob.Name {
		verbs = append(verbs, access.ActForOthers, access.Operate)
	}
	return access.Caller{Name: key, Grants: []access.Grant{{Verbs: verbs, Namespaces: []string{"*"}}}}, nil
}

// client returns a client with the key of a principal.
func (r *remote) client(principal string) *dibs.Registry {
	client, err := dibsclient.Dial("http://registry", dibsclient.Options{
		Key: principal, HTTPClient: &http.Client{Transport: coretest.Direct{Handler: r.handler}}, Retries: -1,
	})
	if err != nil {
		r.t.Fatalf("dial: %v", err)
	}
	return client
}

// Apply is decided twice, but happens once.
func (r *remote) Apply(ctx context.Context, request dibs.ApplyRequest) ([]dibs.Result, error) {
	want, refused := r.kept.As(request.Principal).DryRun(ctx, request.Commands...)
	client := r.client(request.Principal.Name)
	do := client.Apply
	if request.DryRun {
		do = client.DryRun
	} else {
		for i := range want {
			want[i].Events = nil // only a dry run has them
		}
	}
	got, err := do(ctx, request.Commands...)
	if forbidden, is := errors.AsType[*dibsclient.StatusError](err); is && forbidden.Code == "FORBIDDEN" && r.takesMore(request) {
		return want, refused // the server refuses before it asks the registry
	}
	r.compare("apply", want, got, refused, err)
	return got, err
}

// ImportAll is not drawn: Import is.
func (r *remote) ImportAll(ctx context.Context, request dibs.ImportRequest) ([]dibs.Imported, error) {
	return r.client(request.Principal.Name).ImportAll(ctx, request)
}

// takesMore reports whether a request has a command that needs a right its key lacks.
func (r *remote) takesMore(request dibs.ApplyRequest) bool {
	return !request.Principal.Has(dibs.Operate) && slices.ContainsFunc(request.Commands, func(c dibs.Command) bool {
		_, is := c.(dibs.Settle)
		return is
	})
}

// compare fails if the registry and the client answer differently.
func (r *remote) compare(what string, want, got any, refused, err error) {
	if errorText(refused) != errorText(err) {
		r.t.Fatalf("%s: the error over HTTP is\n  %s\nexpected\n  %s", what, errorText(err), errorText(refused))
	}
	if refused == nil && !reflect.DeepEqual(want, got) {
		r.t.Fatalf("%s: the answer over HTTP is\n  %+v\nexpected\n  %+v", what, got, want)
	}
}

// errorText is everything that an error tells a program.
func errorText(err error) string {
	e, ok := errors.AsType[*dibs.Error](err)
	if !ok {
		return fmt.Sprint(err)
	}
	message := e.Error()
	if isConfusable(e) {
		message = "" // which tells an operator with the store the other name, and no caller of a server
	}
	text := fmt.Sprintf("%s %q %q %s %s %s %s %q", e.Code, message, e.Field, e.Namespace, e.Key, e.Reason, e.Until, e.Suggestions)
	if e.Refusal != nil {
		text += fmt.Sprintf(" %+v", *e.Refusal)
	}
	for _, f := range e.Failures {
		text += fmt.Sprintf(" (%d: %s)", f.Index, errorText(f.Err))
	}
	return text
}

// isConfusable reports whether a refusal, or a part of it, is that of a look-alike.
func isConfusable(e *dibs.Error) bool {
	return e.Reason == dibs.ReasonConfusable || slices.ContainsFunc(e.Failures, func(f dibs.Failure) bool { return isConfusable(f.Err) })
}

// both asks the registry and a client.
func both[T any](r *remote, what string, ask func(*dibs.Registry) (T, error)) (T, error) {
	want, refused := ask(r.kept)
	got, err := ask(r.client(""))
	r.compare(what, want, got, refused, err)
	return got, err
}

// askTheRest asks a side behind a server what the model does not know. The methods above
// compare the answers.
func (w *world) askTheRest(s *side) {
	if !s.remote {
		return
	}
	ctx, namespace := context.Background(), w.drawNamespace()
	_, err := s.registry.List(ctx, dibs.NamesQuery{Limit: 2})
	_, also := s.registry.Conflicts(ctx, dibs.ConflictsQuery{Namespace: namespace})
	_, further := s.registry.Check(ctx, dibs.CheckRequest{Namespace: namespace, Values: values, Suggest: 3, Parts: []string{"x", "y"}})
	if err := errors.Join(err, also, further); err != nil {
		w.t.Fatal(err)
	}
}

func (r *remote) Check(ctx context.Context, request dibs.CheckRequest) ([]dibs.Availability, error) {
	return both(r, "check", func(reg *dibs.Registry) ([]dibs.Availability, error) { return reg.Check(ctx, request) })
}

func (r *remote) Resolve(ctx context.Context, namespace, value string) (dibs.Resolution, error) {
	return both(r, "resolve", func(reg *dibs.Registry) (dibs.Resolution, error) { return reg.Resolve(ctx, namespace, value) })
}

func (r *remote) Get(ctx context.Context, lookup dibs.Lookup) (dibs.Name, error) {
	lookup.Version = true // a client always requests it
	return both(r, "get", func(reg *dibs.Registry) (dibs.Name, error) { return reg.Get(ctx, lookup) })
}

func (r *remote) Entity(ctx context.Context, scope string, entity dibs.Entity) (dibs.EntityInfo, error) {
	return both(r, "entity", func(reg *dibs.Registry) (dibs.EntityInfo, error) { return reg.Entity(ctx, scope, entity) })
}

func (r *remote) List(ctx context.Context, query dibs.NamesQuery) (dibs.NamesPage, error) {
	return both(r, "list", func(reg *dibs.Registry) (dibs.NamesPage, error) { return reg.List(ctx, query) })
}

func (r *remote) History(ctx context.Context, query dibs.HistoryQuery) (dibs.HistoryPage, error) {
	return both(r, "history", func(reg *dibs.Registry) (dibs.HistoryPage, error) { return reg.HistoryPage(ctx, query) })
}

func (r *remote) WhoHeld(ctx context.Context, namespace, value string, at time.Time) (dibs.Holder, error) {
	return both(r, "who held", func(reg *dibs.Registry) (dibs.Holder, error) { return reg.WhoHeld(ctx, namespace, value, at) })
}

func (r *remote) Events(ctx context.Context, query dibs.FeedQuery, _ bool) (dibs.EventPage, error) {
	return both(r, "events", func(reg *dibs.Registry) (dibs.EventPage, error) {
		page, err := reg.Events(ctx, query)
		page.Generation = 0 // differs between processes
		return page, err
	})
}

func (r *remote) Stats(ctx context.Context) (dibs.Stats, error) {
	return both(r, "stats", func(reg *dibs.Registry) (dibs.Stats, error) { return reg.Stats(ctx) })
}

func (r *remote) Conflicts(ctx context.Context, query dibs.ConflictsQuery) ([]dibs.ConflictBucket, error) {
	return both(r, "conflicts", func(reg *dibs.Registry) ([]dibs.ConflictBucket, error) { return reg.Conflicts(ctx, query) })
}

func (r *remote) Activity(ctx context.Context, query dibs.ActivityQuery) (dibs.Activity, error) {
	return r.kept.Activity(ctx, query)
}

func (r *remote) Recanonicalize(ctx context.Context, request dibs.RecanonicalizeRequest) (dibs.Recanonicalization, error) {
	if request.DryRun {
		return both(r, "plan", func(reg *dibs.Registry) (dibs.Recanonicalization, error) { return reg.Recanonicalize(ctx, request) })
	}
	return r.client("").Recanonicalize(ctx, request)
}

func (r *remote) Forget(ctx context.Context, request dibs.ForgetRequest) (dibs.Forgetting, error) {
	if request.DryRun {
		return both(r, "plan", func(reg *dibs.Registry) (dibs.Forgetting, error) { return reg.Forget(ctx, request) })
	}
	return r.client("").Forget(ctx, request)
}

func (r *remote) Sweep(ctx context.Context, limit int) (dibs.SweepReport, error) {
	return r.client("").Sweep(ctx, limit)
}

func (r *remote) Close() error { return r.kept.Close() }
