package dibshttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibshttp"
	"github.com/calldibs/dibs/internal/server"
)

// written returns the response of WriteProblem.
func written(err error) fetched {
	recorder := httptest.NewRecorder()
	dibshttp.WriteProblem(recorder, err)
	return fetched{recorder.Code, recorder.Header(), recorder.Body.String()}
}

// A program that passes on an error responds exactly as a server does.
func TestWriteProblemIsTheServers(t *testing.T) {
	t.Parallel()
	reg, store := newRegistry(t)
	web := httptest.NewServer(server.New(server.Config{Registry: reg, Store: store}))
	defer web.Close()
	long := dibs.ReserveAll{}
	for i := range 32 {
		long.Reservations = append(long.Reservations, dibs.Reserve{Namespace: "email", Value: fmt.Sprint(i, strings.Repeat("<", 1000)), Field: strings.Repeat("f", 2000)})
	}
	for what, command := range map[string]dibs.Command{
		"taken":         dibs.Reserve{Namespace: "slug", Value: "The Smiths", Field: "url"},
		"held":          dibs.Reserve{Namespace: "slug", Value: "held"},
		"quarantined":   dibs.Reserve{Namespace: "kept", Value: "closed"},
		"invalid":       dibs.Reserve{Namespace: "email", Value: "nobody"},
		"namespace":     dibs.Reserve{Namespace: "no namespace", Value: "a"},
		"several":       dibs.ReserveAll{Reservations: []dibs.Reserve{{Namespace: "slug", Value: "free"}, {Namespace: "slug", Value: "held"}, {Namespace: "email", Value: "x"}}},
		"too much":      long,
		"not found":     dibs.Release{ID: dibs.NameID("slug", "free"), Token: dibs.NewToken()},
		"lost":          dibs.Release{ID: dibs.NameID("slug", "held"), Token: dibs.NewToken()},
		"has a name":    dibs.Claim{Namespace: "slug", Value: "another", Entity: dibs.Entity{Type: "wedding", ID: "42"}},
		"stale":         dibs.Rename{Namespace: "slug", Value: "another", Entity: dibs.Entity{Type: "wedding", ID: "42"}, IfVersion: 9},
		"not its owner": dibs.Decommission{Namespace: "slug", Value: "the-smiths", Entity: dibs.Entity{Type: "wedding", ID: "4"}},
	} {
		_, err := reg.As(dibs.Principal{}).Apply(t.Context(), command)
		if err == nil {
			t.Errorf("%s: no error", what)
			continue
		}
		res, theirs := written(err), sendCommand(t, web.URL, command)
		if res.status != theirs.status || res.body != theirs.body {
			t.Errorf("%s: %d\n%.2000s\nthe server has %d\n%.2000s", what, res.status, res.body, theirs.status, theirs.body)
		}
		for _, name := range []string{"Content-Type", "Retry-After"} {
			if got, want := res.header.Get(name), theirs.header.Get(name); got != want {
				t.Errorf("%s: %s is %q, the server's %q", what, name, got, want)
			}
		}
	}
}

// sendCommand sends a command to a server by its own call, and returns the response.
func sendCommand(t *testing.T, url string, command dibs.Command) fetched {
	t.Helper()
	method, path, body, header := http.MethodPost, "", map[string]any{}, http.Header{"Content-Type": {"application/json"}}
	switch c := command.(type) {
	case dibs.Reserve:
		path, body = "/v1/reservations", reservation(c)
	case dibs.ReserveAll:
		var parts []any
		for _, r := range c.Reservations {
			parts = append(parts, reservation(r))
		}
		path, body["reservations"] = "/v1/reservations/batch", parts
	case dibs.Release:
		path, body["token"] = "/v1/reservations/"+c.ID.String()+"/release", c.Token
	case dibs.Claim:
		path, body = "/v1/claims", map[string]any{"namespace": c.Namespace, "value": c.Value, "entity": c.Entity}
	case dibs.Rename:
		method, path, body["value"] = http.MethodPut, "/v1/entities/"+c.Entity.String()+"/names/"+c.Namespace, c.Value
		header.Set("If-Match", fmt.Sprintf("%q", fmt.Sprint(c.IfVersion)))
	case dibs.Decommission:
		path, body["entity"] = "/v1/names/"+c.Namespace+"/"+c.Value+"/decommission", c.Entity
	default:
		t.Fatalf("no call for %T", command)
	}
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, url+path, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	res, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fetched{res.StatusCode, res.Header, string(text)}
}

func reservation(c dibs.Reserve) map[string]any {
	body := map[string]any{"namespace": c.Namespace, "value": c.Value}
	if c.Field != "" {
		body["field"] = c.Field
	}
	return body
}

func TestWriteProblemOfOtherErrors(t *testing.T) {
	t.Parallel()
	secret := errors.New("password of the database")
	for _, c := range []struct {
		err        error
		status     int
		code       string
		retryAfter string
	}{
		{dibs.Unavailable(secret), 503, "UNAVAILABLE", "1"},
		{dibs.OutcomeUnknown(secret), 503, "OUTCOME_UNKNOWN", "1"},
		{&dibs.DoError{Entity: dibs.Entity{Type: "t", ID: "1"}, Err: dibs.OutcomeUnknown(secret)}, 503, "OUTCOME_UNKNOWN", "1"},
		{fmt.Errorf("signing up: %w", &dibs.Error{Code: dibs.CodeTooManyHolds, Message: "too many"}), 429, "TOO_MANY_HOLDS", "1"},
		{context.DeadlineExceeded, 503, "UNAVAILABLE", "1"},
		{dibs.ErrBadCursor, 422, "INVALID_CURSOR", ""},
		{secret, 500, "INTERNAL", ""},
		{nil, 500, "INTERNAL", ""},
	} {
		res := written(c.err)
		var problem struct {
			Type, Title, Code, Detail string
			Status                    int
		}
		if err := json.Unmarshal([]byte(res.body), &problem); err != nil {
			t.Fatal(err)
		}
		want := problem
		want.Code, want.Status = c.code, c.status
		if res.status != c.status || !reflect.DeepEqual(problem, want) || problem.Detail == "" || problem.Title == "" || res.header.Get("Retry-After") != c.retryAfter {
			t.Errorf("%v: %d %v %s", c.err, res.status, res.header, res.body)
		}
		if strings.Contains(res.body, "password") {
			t.Errorf("%v: the cause is in %s", c.err, res.body)
		}
	}
}

// The answer to a visitor says nothing about a taken email, wherever it is in the request.
func TestHideTaken(t *testing.T) {
	t.Parallel()
	reg, _ := newRegistry(t)
	for namespace, value := range map[string]string{"email": "ann@example.com", "username": "ann"} {
		if _, err := reg.Claim(t.Context(), dibs.Claim{Namespace: namespace, Value: value, Entity: dibs.Entity{Type: "account", ID: "1"}}); err != nil {
			t.Fatal(err)
		}
	}
	refusal := func(email, username string) error {
		_, err := reg.ReserveAll(t.Context(), dibs.ReserveAll{Reservations: []dibs.Reserve{
			{Namespace: "email", Value: email}, {Namespace: "username", Value: username},
		}})
		return err
	}
	_, alone := reg.Reserve(t.Context(), dibs.Reserve{Namespace: "email", Value: "ann@example.com"})
	for what, err := range map[string]error{"alone": alone, "beside a free name": refusal("ann@example.com", "bob"), "no error": nil} {
		if got := dibshttp.HideTaken(err, "email"); got != nil {
			t.Errorf("%s: %v is left", what, got)
		}
	}
	got := written(dibshttp.HideTaken(refusal("ann@example.com", "ann"), "email"))
	if got.status != http.StatusConflict || strings.Contains(got.body, "email") || strings.Contains(got.body, "ann@") || !strings.Contains(got.body, `"field":"username"`) {
		t.Errorf("beside a taken name: %d %s", got.status, got.body)
	}
	other := errors.New("other")
	for what, err := range map[string]error{"an invalid email": refusal("no email", "bob"), "another field": refusal("bob@example.com", "ann"), "no refusal": other} {
		if got := dibshttp.HideTaken(err, "email"); !errors.Is(got, err) {
			t.Errorf("%s: %v became %v", what, err, got)
		}
	}
}
