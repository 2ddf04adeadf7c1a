package auth

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/calldibs/dibs/internal/exactjson"
)

const (
	fetchTimeout = 5 * time.Second
	maxDocument  = 1 << 20
)

var errTooSoon = errors.New("the issuer's keys were fetched just now")

// fetcher fetches the documents of an issuer. It is the transport of the HTTP client of
// go-oidc, and adds the limits that go-oidc lacks.
type fetcher struct {
	transport http.RoundTripper
	limit     *rate.Limiter // nil means no limit; then now and report are not used
	now       func() time.Time
	report    func(error) // called with the result of each request
	failed    atomic.Bool // the last request failed
}

func (f *fetcher) client() *http.Client { return &http.Client{Transport: f, Timeout: fetchTimeout} }

// RoundTrip fetches a document, or returns a redirect to it. It fails if the status is
// neither 200 nor a redirect, and if the document is too large or not JSON.
func (f *fetcher) RoundTrip(r *http.Request) (*http.Response, error) {
	if f.limit == nil {
		return f.fetch(r)
	}
	if !f.limit.AllowN(f.now(), 1) {
		return nil, errTooSoon
	}
	response, err := f.fetch(r)
	f.failed.Store(err != nil)
	f.report(err)
	return response, err
}

func (f *fetcher) fetch(r *http.Request) (*http.Response, error) {
	if !confidential(r.URL) {
		return nil, errors.New("a document of the issuer is at a URL without https://")
	}
	response, err := f.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusMultipleChoices && response.StatusCode < http.StatusBadRequest {
		return response, nil // the client follows it, through this transport
	}
	defer func() { _ = response.Body.Close() }()
	document, err := io.ReadAll(io.LimitReader(response.Body, maxDocument+1))
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the issuer answered %s", response.Status)
	case len(document) > maxDocument:
		return nil, fmt.Errorf("a document of the issuer has more than %d bytes", maxDocument)
	}
	if err := checkDocument(document); err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(document))
	return response, nil
}

// checkDocument refuses metadata and keys that two parsers can read differently.
func checkDocument(document []byte) error {
	object, err := exactjson.Object(document)
	switch {
	case err != nil:
		return fmt.Errorf("a document of the issuer cannot be parsed: %w", err)
	case exactjson.HasVariant(object, "issuer", "jwks_uri", "keys"):
		return errors.New("a document of the issuer has a member that differs from an expected name only in letter case")
	}
	return nil
}
