package dibsclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsclient"
	"github.com/calldibs/dibs/internal/freeport"
	"github.com/calldibs/dibs/internal/wire"
)

func TestRetriesReads(t *testing.T) {
	t.Parallel()
	tests := map[string][]fault{
		"disconnected":   {dropRequest, dropResponse, dropInside},
		"truncated":      {truncate},
		"gateways":       {respond(502, html, "<p>"), respond(503, html, "<p>"), respond(504, html, "<p>")},
		"too many":       {respond(429, http.Header{"Retry-After": {"0"}}, "")},
		"unavailable":    {unavailable},
		"empty response": {respond(200, jsonType, "")},
	}
	for name, list := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newFixture(t, dibsclient.Options{})
			r.faults.add(list...)
			found, err := r.Check(t.Context(), dibs.CheckRequest{Namespace: "slug", Values: []string{"a"}})
			if err != nil || !found[0].Available {
				t.Fatalf("got %v, %v", found, err)
			}
			if n := r.faults.requests(); n != len(list)+1 {
				t.Errorf("%d requests, want %d", n, len(list)+1)
			}
		})
	}
}

func unavailable(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	problem := wire.ProblemOf(dibs.Unavailable(nil))
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Retry-After", "0")
	w.WriteHeader(problem.Status)
	_ = json.NewEncoder(w).Encode(problem)
}

// applyThenUnknown responds with OUTCOME_UNKNOWN after the server has done its work.
func applyThenUnknown(w http.ResponseWriter, r *http.Request, next http.Handler) {
	replaceResponse(503, contentType("application/problem+json"), `{"status":503,"code":"OUTCOME_UNKNOWN","detail":"unknown"}`)(w, r, next)
}

func TestFailedReads(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100)
	tests := []struct {
		name     string
		faults   []fault
		want     error // nil for any
		status   int   // of the StatusError, zero for none
		message  string
		requests int
	}{
		{"disconnected", times(9, dropRequest), dibs.ErrUnavailable, 0, "lookup", 4},
		{"503", times(9, respond(503, html, "")), dibs.ErrUnavailable, 503, "", 4},
		{"429", times(9, respond(429, nil, "")), dibs.ErrUnavailable, 429, "too many requests", 4},
		{"truncated", times(9, truncate), dibs.ErrUnavailable, 404, "invalid response", 4},
		{"500", times(9, respond(500, html, "")), nil, 500, "log", 1},
		{"401", times(9, respond(401, nil, "")), nil, 401, "Options.Key", 1},
		{"403", times(9, respond(403, nil, "")), nil, 403, "no right", 1},
		{"404", times(9, respond(404, html, "<h1>Not here</h1>")), nil, 404, "URL", 1},
		{"413", times(9, respond(413, nil, "")), nil, 413, "too large", 1},
		{"418", times(9, respond(418, nil, "")), nil, 418, "URL", 1},
		{"redirect", times(9, respond(301, http.Header{"Location": {"https://elsewhere/"}}, "")), nil, 301, "https://elsewhere/", 1},
		{"HTML", times(9, respond(200, html, "<h1>Welcome</h1>")), nil, 200, "text/html", 1},
		{"no type", times(9, respond(200, http.Header{"Content-Type": {""}}, "{}")), nil, 200, "without a content type", 1},
		{"huge", times(9, respond(200, jsonType, `{"value":"`+strings.Repeat(long, 20)+`"}`)), nil, 200, "request less", 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newFixture(t, dibsclient.Options{})
			r.Registry = dialWithLimits(t, r.url, dibsclient.Options{}, dibsclient.Limits{MaxResponse: 1000})
			r.faults.add(test.faults...)
			_, err := r.Get(t.Context(), dibs.Lookup{Namespace: "slug", Value: "a"})
			if err == nil || (test.want != nil && !errors.Is(err, test.want)) || !strings.Contains(err.Error(), test.message) {
				t.Errorf("the error is %v", err)
			}
			var status *dibsclient.StatusError
			if errors.As(err, &status) != (test.status != 0) || (status != nil && status.Status != test.status) {
				t.Errorf("the error is %v, want the status %d", err, test.status)
			}
			if n := r.faults.requests(); n != test.requests {
				t.Errorf("%d requests, want %d", n, test.requests)
			}
		})
	}
}

// The response of the first attempt is lost, and the call still returns the result.
func TestRetriesFencedChanges(t *testing.T) {
	t.Parallel()
	lost := map[string]fault{
		"response lost": dropResponse, "disconnected inside": dropInside, "truncated": truncate, "unknown": applyThenUnknown,
		"gateway": replaceResponse(504, html, ""), "request lost": dropRequest, "unavailable": unavailable,
	}
	for name, fault := range lost {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newFixture(t, dibsclient.Options{})
			ctx := t.Context()
			r.faults.add(fault)
			hold, err := r.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "a"})
			if err != nil || hold.Replayed || hold.Epoch != 1 {
				t.Fatalf("Reserve: %+v, %v", hold, err)
			}
			r.faults.add(fault)
			holds, err := r.ReserveAll(ctx, dibs.ReserveAll{Reservations: []dibs.Reserve{{Namespace: "slug", Value: "b"}, {Namespace: "slug", Value: "c"}}})
			if err != nil || holds[0].Replayed || holds[1].Epoch != 1 {
				t.Fatalf("ReserveAll: %+v, %v", holds, err)
			}
			r.faults.add(fault)
			first, err := r.ReserveFirst(ctx, dibs.ReserveFirst{Namespace: "slug", Values: []string{"a", "d", "e"}})
			if err != nil || first.Replayed || first.Canonical != "d" {
				t.Fatalf("ReserveFirst: %+v, %v", first, err)
			}
			r.faults.add(fault)
			if longer, err := r.Extend(ctx, dibs.Extend{ID: hold.ID, Token: hold.Token, TTL: dibs.For(time.Hour)}); err != nil || longer.Remaining < 30*time.Minute {
				t.Fatalf("Extend: %+v, %v", longer, err)
			}
			r.faults.add(fault)
			name, err := r.Confirm(ctx, dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: user1})
			if err != nil || name.State != dibs.Active || name.Version != 1 {
				t.Fatalf("Confirm: %+v, %v", name, err)
			}
			r.faults.add(fault)
			if _, err := r.ReleaseAll(ctx, holds); err != nil {
				t.Fatalf("ReleaseAll: %v", err)
			}
			holds, err = r.ReserveAll(ctx, dibs.ReserveAll{Reservations: []dibs.Reserve{{Namespace: "slug", Value: "b"}, {Namespace: "email", Value: "b"}}})
			if err != nil {
				t.Fatal(err)
			}
			r.faults.add(fault)
			if names, err := r.ConfirmAll(ctx, holds, user3); err != nil || names[1].State != dibs.Active {
				t.Fatalf("ConfirmAll: %+v, %v", names, err)
			}
			r.faults.add(fault)
			mixed := []dibs.Command{
				dibs.Reserve{Namespace: "slug", Value: "g"}, dibs.Confirm{ID: first.ID, Token: first.Token, Entity: user2},
			}
			if _, err := r.Apply(ctx, mixed...); err != nil {
				t.Fatalf("a list: %v", err)
			}
		})
	}
}

// The caller may have used its own token before, so a replay is reported.
func TestReportsReplayOfCallersToken(t *testing.T) {
	t.Parallel()
	r := newFixture(t, dibsclient.Options{})
	r.faults.add(dropResponse)
	hold, err := r.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "a", Token: token1})
	if err != nil || !hold.Replayed {
		t.Fatalf("got %+v, %v", hold, err)
	}
}

func TestDoesNotRetryUnfencedChanges(t *testing.T) {
	t.Parallel()
	id := dibs.NameID("slug", "a")
	rename := dibs.Rename{Namespace: "slug", Entity: user1, Value: "b"}
	swap := dibs.Swap{Namespace: "slug", A: dibs.Named{Value: "a", Entity: user1}, B: dibs.Named{Value: "z", Entity: user2}}
	tests := map[string][]dibs.Command{
		"claim":           {dibs.Claim{Namespace: "slug", Value: "c", Entity: user3}},
		"rename":          {rename},
		"pointer":         {&rename},
		"rename a hold":   {dibs.Rename{Namespace: "slug", Entity: user1, Value: "b", Token: token1}},
		"if version":      {dibs.Rename{Namespace: "slug", Entity: user1, Value: "b", IfVersion: 1}},
		"archive":         {dibs.Archive{Entity: user1}},
		"restore":         {dibs.Restore{Entity: user1}},
		"delete":          {dibs.Delete{Entity: user1}},
		"decommission":    {dibs.Decommission{Namespace: "slug", Value: "a", Entity: user1}},
		"transfer":        {dibs.Transfer{Namespace: "slug", Value: "a", From: user1, To: user3}},
		"swap":            {swap},
		"settle":          {dibs.Settle{ID: id, Verdict: dibs.Absent}},
		"one of a list":   {dibs.Reserve{Namespace: "slug", Value: "c"}, rename},
		"archive, delete": {dibs.Archive{Entity: user1}, dibs.Delete{Entity: user2}},
	}
	for name, commands := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newFixture(t, dibsclient.Options{})
			for value, entity := range map[string]dibs.Entity{"a": user1, "z": user2} {
				if _, err := r.Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: value, Entity: entity}); err != nil {
					t.Fatal(err)
				}
			}
			for _, lost := range []fault{dropResponse, dropInside, applyThenUnknown, replaceResponse(503, html, "")} {
				r.faults.add(lost)
				_, err := r.Apply(t.Context(), commands...)
				if n := r.faults.requests(); n != 1 || !errors.Is(err, dibs.ErrOutcomeUnknown) || !strings.Contains(err.Error(), "before you run it again") {
					t.Errorf("got %v after %d requests", err, n)
				}
			}
			// A call that certainly was not applied is repeated.
			r.faults.add(unavailable, respond(429, nil, ""))
			if _, err := r.Apply(t.Context(), commands...); errors.Is(err, dibs.ErrOutcomeUnknown) || r.faults.requests() != 3 {
				t.Errorf("got %v after %d requests", err, r.faults.requests())
			}
			// A dry run is always repeated.
			r.faults.add(dropResponse, unavailable, respond(429, nil, ""))
			if _, err := r.DryRun(t.Context(), commands...); errors.Is(err, dibs.ErrOutcomeUnknown) || r.faults.requests() != 4 {
				t.Errorf("a dry run: %v after %d requests", err, r.faults.requests())
			}
		})
	}
}

func TestFailedChanges(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		faults   []fault
		want     error
		status   int
		requests int
	}{
		{"disconnected", times(9, dropRequest), dibs.ErrOutcomeUnknown, 0, 4},
		{"truncated", times(9, truncate), dibs.ErrOutcomeUnknown, 200, 4},
		{"HTML", times(9, respond(200, html, "<p>")), dibs.ErrOutcomeUnknown, 200, 1},
		{"no results", times(9, respond(200, jsonType, `{"results":[]}`)), dibs.ErrOutcomeUnknown, 200, 4},
		{"no names", times(9, respond(200, jsonType, `{"results":[{}]}`)), dibs.ErrOutcomeUnknown, 200, 4},
		{"500", times(9, respond(500, html, "")), dibs.ErrOutcomeUnknown, 500, 1},
		{"503 of a proxy", times(9, respond(503, html, "")), dibs.ErrOutcomeUnknown, 503, 4},
		{"unknown", times(9, applyThenUnknown), dibs.ErrOutcomeUnknown, 0, 4},
		{"unavailable", times(9, unavailable), dibs.ErrUnavailable, 0, 4},
		{"429", times(9, respond(429, nil, "")), dibs.ErrUnavailable, 429, 4},
		{"401", times(9, respond(401, nil, "")), nil, 401, 1},
		{"maybe applied, then unavailable", append([]fault{dropResponse}, times(9, unavailable)...), dibs.ErrOutcomeUnknown, 0, 4},
		{"maybe applied, then unauthorized", []fault{dropResponse, respond(401, nil, "")}, dibs.ErrOutcomeUnknown, 401, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newFixture(t, dibsclient.Options{})
			r.faults.add(test.faults...)
			_, err := r.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "a"})
			if err == nil || (test.want != nil && !errors.Is(err, test.want)) {
				t.Errorf("the error is %v, want %v", err, test.want)
			}
			if errors.Is(err, dibs.ErrOutcomeUnknown) && errors.Is(err, dibs.ErrUnavailable) {
				t.Errorf("the error has two codes: %v", err)
			}
			var status *dibsclient.StatusError
			if errors.As(err, &status) != (test.status != 0) || (status != nil && status.Status != test.status) {
				t.Errorf("the error is %v, want the status %d", err, test.status)
			}
			if n := r.faults.requests(); n != test.requests {
				t.Errorf("%d requests, want %d", n, test.requests)
			}
		})
	}
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	reg := dial(t, "http://"+freeport.Address(t), dibsclient.Options{Retries: 1})
	if _, err := reg.Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: "a", Entity: user1}); !errors.Is(err, dibs.ErrUnavailable) {
		t.Errorf("a change: %v", err)
	}
	if _, err := reg.Resolve(t.Context(), "slug", "a"); !errors.Is(err, dibs.ErrUnavailable) {
		t.Errorf("a read: %v", err)
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	r := newFixture(t, dibsclient.Options{Timeout: 500 * time.Millisecond})
	r.faults.add(hang)
	hold, err := r.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "a"})
	if err != nil || hold.Replayed {
		t.Errorf("a change: %+v, %v", hold, err)
	}
	r.faults.add(hang)
	if _, err := r.Get(t.Context(), dibs.Lookup{ID: hold.ID}); err != nil {
		t.Errorf("a read: %v", err)
	}
	r.faults.add(times(9, hang)...)
	_, err = r.Get(t.Context(), dibs.Lookup{ID: hold.ID})
	if !errors.Is(err, dibs.ErrUnavailable) || !strings.Contains(err.Error(), "no response within 500ms") || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no response at all: %v", err)
	}
}

// isPlain reports whether an error matches the target and has no code of the library.
func isPlain(err, target error) bool {
	var known *dibs.Error
	return errors.Is(err, target) && !errors.As(err, &known)
}

func TestContexts(t *testing.T) {
	t.Parallel()
	r := newFixture(t, dibsclient.Options{})
	claim := dibs.Claim{Namespace: "slug", Value: "a", Entity: user1}

	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Resolve(canceled, "slug", "a"); !isPlain(err, context.Canceled) {
		t.Errorf("a read with a canceled context: %v", err)
	}
	if _, err := r.Claim(canceled, claim); !errors.Is(err, dibs.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("a change with a canceled context: %v", err)
	}

	short := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	r.faults.add(hang)
	if _, err := r.Resolve(short(), "slug", "a"); !isPlain(err, context.DeadlineExceeded) {
		t.Errorf("a read whose context ended: %v", err)
	}
	r.faults.add(hang)
	if _, err := r.Claim(short(), claim); !errors.Is(err, dibs.ErrOutcomeUnknown) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a change whose context ended: %v", err)
	}
	r.faults.add(times(9, respond(503, http.Header{"Retry-After": {"9"}}, ""))...)
	ends, cancel := context.WithTimeout(t.Context(), 8*time.Second)
	defer cancel()
	if _, err := r.Resolve(ends, "slug", "a"); !errors.Is(err, dibs.ErrUnavailable) || ends.Err() != nil {
		t.Errorf("no time for the backoff: %v, and %v", err, ends.Err())
	}
}

// The transport traces connections of HTTP/2 in another way.
func TestHTTP2(t *testing.T) {
	t.Parallel()
	abort := func(_ http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.ProtoMajor != 2 {
			t.Errorf("the protocol is %s", r.Proto)
		}
		next.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
	f := &faults{next: newHandler(open(t, dibs.Config{PollEvery: 5 * time.Millisecond}, nil), "")}
	web := httptest.NewUnstartedServer(f)
	web.EnableHTTP2 = true
	web.StartTLS()
	defer web.Close()
	reg := dial(t, web.URL, dibsclient.Options{HTTPClient: web.Client()})
	commands := []dibs.Command{
		dibs.Claim{Namespace: "slug", Value: "a", Entity: user1},
		dibs.Rename{Namespace: "slug", Value: "b", Entity: user1},
	}
	for range 2 { // on a new connection, and on an open one
		f.add(abort)
		if _, err := reg.Apply(t.Context(), commands...); !errors.Is(err, dibs.ErrOutcomeUnknown) {
			t.Errorf("got %v", err)
		}
		commands = commands[1:]
		commands = append(commands, dibs.Archive{Entity: user1})
	}
	hold, err := reg.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "c"})
	if err != nil || hold.Canonical != "c" {
		t.Fatal(err)
	}
	for e, err := range reg.Watch(t.Context(), dibs.FeedQuery{}) {
		if err != nil || e.Canonical != "a" {
			t.Errorf("got %v, %v", e, err)
		}
		break
	}
	_ = reg.Close() // otherwise web.Close waits for the stream
}
