package dibsclient_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsclient"
	"github.com/calldibs/dibs/internal/wire"
)

func TestReadsAreRepeated(t *testing.T) {
	t.Parallel()
	tests := map[string][]fault{
		"cut":             {cutBefore, cutAfter, cutInside},
		"truncated":       {truncate},
		"gateways":        {say(502, html, "<p>"), say(503, html, "<p>"), say(504, html, "<p>")},
		"too many":        {say(429, http.Header{"Retry-After": {"0"}}, "")},
		"engine gone":     {unavailable},
		"an empty answer": {say(200, http.Header{"Content-Type": {"application/json"}}, "")},
	}
	for name, list := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, dibsclient.Options{})
			r.faults.add(list...)
			found, err := r.Check(t.Context(), dibs.CheckRequest{Namespace: "slug", Values: []string{"a"}})
			if err != nil || !found[0].Available {
				t.Fatalf("got %v, %v", found, err)
			}
			if n := r.faults.requests(); n != len(list)+1 {
				t.Errorf("there were %d requests, want %d", n, len(list)+1)
			}
		})
	}
}

func unavailable(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	writeProblem(w, wire.ProblemOf(dibs.Unavailable(nil)))
}

// doneUnknown lets the server do it and says that nobody knows.
func doneUnknown(w http.ResponseWriter, r *http.Request, next http.Handler) {
	sayAfter(503, http.Header{"Content-Type": {"application/problem+json"}}, `{"status":503,"code":"OUTCOME_UNKNOWN","detail":"who knows"}`)(w, r, next)
}

func TestReadsGiveUp(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100)
	tests := []struct {
		name     string
		faults   []fault
		want     error // matched by errors.Is, if there is one
		status   int   // of the StatusError, if there is one
		says     string
		requests int
	}{
		{"cut", times(9, cutBefore), dibs.ErrUnavailable, 0, "lookup", 4},
		{"503", times(9, say(503, html, "")), dibs.ErrUnavailable, 503, "", 4},
		{"429", times(9, say(429, nil, "")), dibs.ErrUnavailable, 429, "too many requests", 4},
		{"truncated", times(9, truncate), dibs.ErrUnavailable, 404, "makes no sense", 4},
		{"500", times(9, say(500, html, "")), nil, 500, "log", 1},
		{"401", times(9, say(401, nil, "")), nil, 401, "Options.Key", 1},
		{"403", times(9, say(403, nil, "")), nil, 403, "no right", 1},
		{"404", times(9, say(404, html, "<h1>Not here</h1>")), nil, 404, "URL", 1},
		{"413", times(9, say(413, nil, "")), nil, 413, "too large", 1},
		{"418", times(9, say(418, nil, "")), nil, 418, "URL", 1},
		{"redirect", times(9, say(301, http.Header{"Location": {"https://elsewhere/"}}, "")), nil, 301, "https://elsewhere/", 1},
		{"HTML", times(9, say(200, html, "<h1>Welcome</h1>")), nil, 200, "text/html", 1},
		{"no type", times(9, say(200, http.Header{"Content-Type": {""}}, "{}")), nil, 200, "without a type", 1},
		{"huge", times(9, say(200, http.Header{"Content-Type": {"application/json"}}, `{"value":"`+strings.Repeat(long, 20)+`"}`)), nil, 200, "ask for less", 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, dibsclient.Options{})
			r.Registry = dialWithin(t, r.url, dibsclient.Options{}, dibsclient.Limits{MaxAnswer: 1000})
			r.faults.add(test.faults...)
			_, err := r.Get(t.Context(), dibs.Lookup{Namespace: "slug", Value: "a"})
			if err == nil || (test.want != nil && !errors.Is(err, test.want)) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("the error is %v", err)
			}
			var status *dibsclient.StatusError
			if errors.As(err, &status) != (test.status != 0) || (status != nil && status.Status != test.status) {
				t.Errorf("the error is %v, want the status %d", err, test.status)
			}
			if n := r.faults.requests(); n != test.requests {
				t.Errorf("there were %d requests, want %d", n, test.requests)
			}
		})
	}
}

// The answer gets lost, and what was done is told all the same.
func TestChangesAreRepeatedWhereThatIsHarmless(t *testing.T) {
	t.Parallel()
	lost := map[string]fault{
		"cut": cutAfter, "cut inside": cutInside, "truncated": truncate, "unknown": doneUnknown, "gateway": sayAfter(504, html, ""), "before": cutBefore, "unavailable": unavailable,
	}
	for name, fault := range lost {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, dibsclient.Options{})
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
			releases := []dibs.Command{dibs.Release{ID: holds[0].ID, Token: holds[0].Token}, dibs.Release{ID: holds[1].ID, Token: holds[1].Token}}
			if _, err := r.Apply(ctx, releases...); err != nil {
				t.Fatalf("Release: %v", err)
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

// A token of the caller's own may have been used before, so it is not hidden that the
// hold was there.
func TestATokenOfTheCallersIsReportedAsReplayed(t *testing.T) {
	t.Parallel()
	r := newRig(t, dibsclient.Options{})
	r.faults.add(cutAfter)
	hold, err := r.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "a", Token: token1})
	if err != nil || !hold.Replayed {
		t.Fatalf("got %+v, %v", hold, err)
	}
}

func TestChangesThatAreNotRepeated(t *testing.T) {
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
			r := newRig(t, dibsclient.Options{})
			for value, entity := range map[string]dibs.Entity{"a": user1, "z": user2} {
				if _, err := r.Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: value, Entity: entity}); err != nil {
					t.Fatal(err)
				}
			}
			for _, lost := range []fault{cutAfter, cutInside, doneUnknown, sayAfter(503, html, "")} {
				r.faults.add(lost)
				_, err := r.Apply(t.Context(), commands...)
				if n := r.faults.requests(); n != 1 || !errors.Is(err, dibs.ErrOutcomeUnknown) || !strings.Contains(err.Error(), "before you run it again") {
					t.Errorf("got %v after %d requests", err, n)
				}
			}
			// What surely did not happen is repeated.
			r.faults.add(unavailable, say(429, nil, ""))
			if _, err := r.Apply(t.Context(), commands...); errors.Is(err, dibs.ErrOutcomeUnknown) || r.faults.requests() != 3 {
				t.Errorf("got %v after %d requests", err, r.faults.requests())
			}
			// And so is what only asks.
			r.faults.add(cutAfter, unavailable, say(429, nil, ""))
			if _, err := r.DryRun(t.Context(), commands...); errors.Is(err, dibs.ErrOutcomeUnknown) || r.faults.requests() != 4 {
				t.Errorf("a dry run: %v after %d requests", err, r.faults.requests())
			}
		})
	}
}

func TestChangesGiveUp(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		faults   []fault
		want     error
		status   int
		requests int
	}{
		{"cut", times(9, cutBefore), dibs.ErrOutcomeUnknown, 0, 4},
		{"truncated", times(9, truncate), dibs.ErrOutcomeUnknown, 200, 4},
		{"HTML", times(9, say(200, html, "<p>")), dibs.ErrOutcomeUnknown, 200, 1},
		{"no results", times(9, say(200, http.Header{"Content-Type": {"application/json"}}, `{"results":[]}`)), dibs.ErrOutcomeUnknown, 200, 4},
		{"no names", times(9, say(200, http.Header{"Content-Type": {"application/json"}}, `{"results":[{}]}`)), dibs.ErrOutcomeUnknown, 200, 4},
		{"500", times(9, say(500, html, "")), dibs.ErrOutcomeUnknown, 500, 1},
		{"503 of a proxy", times(9, say(503, html, "")), dibs.ErrOutcomeUnknown, 503, 4},
		{"unknown", times(9, doneUnknown), dibs.ErrOutcomeUnknown, 0, 4},
		{"unavailable", times(9, unavailable), dibs.ErrUnavailable, 0, 4},
		{"429", times(9, say(429, nil, "")), dibs.ErrUnavailable, 429, 4},
		{"401", times(9, say(401, nil, "")), nil, 401, 1},
		{"in doubt, then gone", append([]fault{cutAfter}, times(9, unavailable)...), dibs.ErrOutcomeUnknown, 0, 4},
		{"in doubt, then without a key", []fault{cutAfter, say(401, nil, "")}, dibs.ErrOutcomeUnknown, 401, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, dibsclient.Options{})
			r.faults.add(test.faults...)
			_, err := r.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "a"})
			if err == nil || (test.want != nil && !errors.Is(err, test.want)) {
				t.Errorf("the error is %v, want %v", err, test.want)
			}
			if errors.Is(err, dibs.ErrOutcomeUnknown) && errors.Is(err, dibs.ErrUnavailable) {
				t.Errorf("the error is both unknown and not: %v", err)
			}
			var status *dibsclient.StatusError
			if errors.As(err, &status) != (test.status != 0) || (status != nil && status.Status != test.status) {
				t.Errorf("the error is %v, want the status %d", err, test.status)
			}
			if n := r.faults.requests(); n != test.requests {
				t.Errorf("there were %d requests, want %d", n, test.requests)
			}
		})
	}
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + listener.Addr().String()
	_ = listener.Close()
	reg := dial(t, url, dibsclient.Options{Retries: 1})
	if _, err := reg.Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: "a", Entity: user1}); !errors.Is(err, dibs.ErrUnavailable) {
		t.Errorf("a change: %v", err)
	}
	if _, err := reg.Resolve(t.Context(), "slug", "a"); !errors.Is(err, dibs.ErrUnavailable) {
		t.Errorf("a question: %v", err)
	}
}

func TestSlowAnswers(t *testing.T) {
	t.Parallel()
	r := newRig(t, dibsclient.Options{Timeout: 100 * time.Millisecond})
	r.faults.add(hang)
	hold, err := r.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "a"})
	if err != nil || hold.Replayed {
		t.Errorf("a change: %+v, %v", hold, err)
	}
	r.faults.add(hang)
	if _, err := r.Get(t.Context(), dibs.Lookup{ID: hold.ID}); err != nil {
		t.Errorf("a question: %v", err)
	}
	r.faults.add(times(9, hang)...)
	_, err = r.Get(t.Context(), dibs.Lookup{ID: hold.ID})
	if !errors.Is(err, dibs.ErrUnavailable) || !strings.Contains(err.Error(), "no answer within 100ms") || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no answer at all: %v", err)
	}
}

// isJust reports whether an error is another one, and none of the library's.
func isJust(err, target error) bool {
	var known *dibs.Error
	return errors.Is(err, target) && !errors.As(err, &known)
}

func TestContexts(t *testing.T) {
	t.Parallel()
	r := newRig(t, dibsclient.Options{})
	claim := dibs.Claim{Namespace: "slug", Value: "a", Entity: user1}

	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Resolve(over, "slug", "a"); !isJust(err, context.Canceled) {
		t.Errorf("a question with a context that is over: %v", err)
	}
	if _, err := r.Claim(over, claim); !errors.Is(err, dibs.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("a change with a context that is over: %v", err)
	}

	short := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	r.faults.add(hang)
	if _, err := r.Resolve(short(), "slug", "a"); !isJust(err, context.DeadlineExceeded) {
		t.Errorf("a question whose context ended: %v", err)
	}
	r.faults.add(hang)
	if _, err := r.Claim(short(), claim); !errors.Is(err, dibs.ErrOutcomeUnknown) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a change whose context ended: %v", err)
	}
	r.faults.add(times(9, say(503, http.Header{"Retry-After": {"9"}}, ""))...)
	start := time.Now()
	if _, err := r.Resolve(short(), "slug", "a"); !errors.Is(err, dibs.ErrUnavailable) || time.Since(start) > time.Second {
		t.Errorf("no time for a pause: %v after %v", err, time.Since(start))
	}
}

// With HTTP/2 the transport reports otherwise how far a request came.
func TestHTTP2(t *testing.T) {
	t.Parallel()
	abort := func(_ http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.ProtoMajor != 2 {
			t.Errorf("the request came by %s", r.Proto)
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
	for range 2 { // on a new connection, and on one that is there
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
	_ = reg.Close() // or the server would wait for its stream
}
