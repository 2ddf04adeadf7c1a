package idtoken

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
	// An issuer is asked for its keys three times at once, and then every ten seconds at
	// the most: whoever makes up tokens with keys that there are not must not have us
	// bother it.
	askEvery = 10 * time.Second
	askBurst = 3
)

// errTooSoon is for a request that would be one too many.
var errTooSoon = errors.New("the issuer was asked for its keys just now")

// fetcher gets documents of an issuer. It is the transport of the client that go-oidc
// uses, since that has no bounds of its own.
type fetcher struct {
	transport http.RoundTripper
	limit     *rate.Limiter // nil: none
	now       func() time.Time
	report    func(error) // what became of a request
	failed    atomic.Bool // the last one did
}

// client returns a client that gets what a fetcher lets it.
func (f *fetcher) client() *http.Client { return &http.Client{Transport: f, Timeout: fetchTimeout} }

// RoundTrip gets a document, also where a redirect leads to it. One that is too large, no
// JSON, or has another status than 200 is an error.
func (f *fetcher) RoundTrip(r *http.Request) (*http.Response, error) {
	if f.limit != nil && !f.limit.AllowN(f.now(), 1) {
		return nil, errTooSoon
	}
	response, err := f.fetch(r)
	f.failed.Store(err != nil)
	if f.report != nil {
		f.report(err)
	}
	return response, err
}

func (f *fetcher) fetch(r *http.Request) (*http.Response, error) {
	if !confidential(r.URL) {
		return nil, errors.New("a document of the issuer is not behind https://")
	}
	response, err := f.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusMultipleChoices && response.StatusCode < http.StatusBadRequest {
		return response, nil // the client goes on, through here
	}
	defer func() { _ = response.Body.Close() }()
	document, err := io.ReadAll(io.LimitReader(response.Body, maxDocument+1))
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the issuer answers with %s", response.Status)
	case len(document) > maxDocument:
		return nil, fmt.Errorf("a document of the issuer has more than %d bytes", maxDocument)
	}
	if err := checkDocument(document); err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(document))
	return response, nil
}

// checkDocument refuses metadata and keys that can be read in two ways.
func checkDocument(document []byte) error {
	object, err := exactjson.Object(document)
	switch {
	case err != nil:
		return fmt.Errorf("a document of the issuer cannot be read: %w", err)
	case exactjson.HasVariant(object, "issuer", "jwks_uri", "keys"):
		return errors.New("a document of the issuer has a member of another spelling than it must have")
	}
	return nil
}
