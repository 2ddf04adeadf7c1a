package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/server"
	"github.com/calldibs/dibs/internal/wire"
)

// apiTimeout is how long a call of the API may take, including a webhook's receiver.
const apiTimeout = 90 * time.Second

// api calls the parts of the API that a registry does not have. With --store it calls a server in
// this process, so that --store and --server behave the same.
type api struct {
	base, key string
	client    *http.Client
}

// apiError is an error response of the API.
type apiError struct{ problem wire.Problem }

// Error returns the detail of the problem.
func (e *apiError) Error() string { return e.problem.Detail }

func (e *apiError) exit() int {
	if e.problem.Code == "KEY_NAME_TAKEN" {
		return ExitTaken
	}
	switch e.problem.Status {
	case http.StatusNotFound:
		return ExitNotFound
	case http.StatusServiceUnavailable:
		return ExitUnavailable
	case http.StatusInternalServerError, http.StatusOK:
		return ExitUnexpected
	default:
		return ExitRefused
	}
}

// onAPI returns a command that calls the API.
func (s *session) onAPI(path string, do func(ctx context.Context, a *api, args []string) (*answer, error)) *cobra.Command {
	return s.command(path, func(ctx context.Context, args []string) (_ *answer, err error) {
		target, err := s.target()
		if err != nil {
			return nil, err
		}
		calls, registry, err := openAPI(ctx, target)
		if err != nil {
			return nil, err
		}
		defer s.close(registry, &err)
		return do(ctx, calls, args)
	})
}

// openAPI opens the API, and the registry behind it, which the caller closes.
func openAPI(ctx context.Context, target Target) (calls *api, registry *dibs.Registry, err error) {
	calls = &api{base: strings.TrimRight(target.Server, "/"), key: target.Key, client: &http.Client{
		Timeout:       apiTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if target.Server != "" {
		registry, err := dial(target) // it checks the address
		if err != nil {
			return nil, nil, err
		}
		trust, err := target.tls()
		if err != nil {
			return nil, nil, usage("%w", err)
		}
		calls.client.Transport = &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: trust}
		return calls, registry, nil
	}
	if target.Store == "mem:" {
		return nil, nil, usage("names in memory are lost when the command ends: use another --store")
	}
	cfg, store, registry, err := openStore(ctx, target)
	if err != nil {
		return nil, nil, err
	}
	metrics := server.NewMetrics()
	calls.base, calls.client.Transport = "http://localhost", inProcess{server.New(server.Config{
		Registry: registry, Store: store, RequestTimeout: apiTimeout, Metrics: metrics,
		Webhooks: newWebhooks(cfg.Webhooks, registry, store, nil, metrics),
	})}
	return calls, registry, nil
}

// request sends a request, and shows the response.
func request[T any](ctx context.Context, a *api, method, path string, body any, text func(*printer, T)) (*answer, error) {
	return converted(func(document T) any { return document }, text)(call[T](ctx, a, method, path, body))
}

// call sends a request, and decodes the response into a T.
func call[T any](ctx context.Context, a *api, method, path string, body any) (into T, err error) {
	var content io.Reader = http.NoBody
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return into, err
		}
		content = bytes.NewReader(data)
	}
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, content)
	if err != nil {
		return into, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if a.key != "" {
		req.Header.Set("Authorization", "Bearer "+a.key)
	}
	res, err := a.client.Do(req)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err
		}
		if connected.Load() && method != http.MethodGet {
			unknown := dibs.OutcomeUnknown(err)
			unknown.Message = "it may have happened: look at what is there before you run it again" // there are no tokens here
			return into, unknown
		}
		return into, dibs.Unavailable(err)
	}
	defer func() { _ = res.Body.Close() }()
	media, isGood := res.Header.Get("Content-Type"), res.StatusCode/100 == 2
	if isGood && strings.HasPrefix(media, "application/json") {
		return into, json.NewDecoder(res.Body).Decode(&into)
	}
	failed := &apiError{*wire.NewProblem(res.StatusCode, "UNEXPECTED",
		fmt.Sprintf("the server answered %d, not as Dibs does: check the URL and any proxy in between", res.StatusCode))}
	if !isGood && strings.HasPrefix(media, "application/problem+json") { // of a good status a proxy has changed it
		err = json.NewDecoder(res.Body).Decode(&failed.problem)
	}
	return into, errors.Join(err, failed)
}

// inProcess is a transport that calls a handler, without a network.
type inProcess struct{ handler http.Handler }

// RoundTrip calls the handler.
func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := &bufferedResponse{header: make(http.Header), status: http.StatusOK}
	t.handler.ServeHTTP(w, r)
	return &http.Response{
		StatusCode: w.status, Header: w.header, Body: io.NopCloser(&w.body), Request: r, ContentLength: int64(w.body.Len()),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// bufferedResponse keeps a response in memory.
type bufferedResponse struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *bufferedResponse) Header() http.Header         { return w.header }
func (w *bufferedResponse) WriteHeader(status int)      { w.status = status }
func (w *bufferedResponse) Write(b []byte) (int, error) { return w.body.Write(b) }
