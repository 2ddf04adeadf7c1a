package witness

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/calldibs/dibs"
)

const (
	// DefaultTimeout is the time for one question.
	DefaultTimeout = 5 * time.Second
	// DefaultAtOnce is the number of concurrent questions.
	DefaultAtOnce = 4
)

// HTTPConfig configures an [HTTP].
type HTTPConfig struct {
	// URL receives the questions, by POST.
	URL string
	// Header is sent with each question. Nil means only the standard headers.
	Header http.Header
	// TLS verifies the service. Nil means by the system's certificate authorities.
	TLS *tls.Config
	// Timeout is the time for one question. Zero means [DefaultTimeout].
	Timeout time.Duration
	// AtOnce is the number of concurrent questions. Zero means [DefaultAtOnce].
	AtOnce int
}

// HTTP is a witness that asks a service. It is safe for concurrent use.
type HTTP struct {
	config HTTPConfig
	client *http.Client
	slots  chan struct{} // one for each question in flight
}

var _ dibs.Witness = (*HTTP)(nil).Ask

// NewHTTP returns a witness that asks a service. It sends nothing before the first question.
func NewHTTP(cfg HTTPConfig) (*HTTP, error) {
	if err := checkURL(cfg.URL); err != nil {
		return nil, err
	}
	cfg.Timeout = cmp.Or(cfg.Timeout, DefaultTimeout)
	cfg.AtOnce = cmp.Or(cfg.AtOnce, DefaultAtOnce)
	if cfg.Timeout < 0 || cfg.AtOnce < 0 {
		return nil, errors.New("witness: Timeout and AtOnce must not be negative")
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true} // for programs that replaced the default transport
	if standard, ok := http.DefaultTransport.(*http.Transport); ok {
		transport = standard.Clone()
	}
	transport.TLSClientConfig = cfg.TLS.Clone() // Clone of nil is nil
	transport.MaxIdleConnsPerHost = cfg.AtOnce
	return &HTTP{
		config: cfg,
		client: &http.Client{
			Transport: transport,
			// A redirect means a wrong address, and the answer of its target may be about
			// something else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		slots: make(chan struct{}, cfg.AtOnce),
	}, nil
}

// checkURL checks a URL. No error contains the URL, which may have a secret in it.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New(`the URL is not valid: write it like "https://orders.internal/witness"`)
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return errors.New(`the URL must begin with http:// or https:// and a host`)
	case u.User != nil:
		return errors.New("the URL must not contain a password: send a header")
	case u.Fragment != "":
		return errors.New("the URL must not contain a #")
	}
	return nil
}

// Ask asks the service about a hold. Every error comes with [dibs.Unknown].
func (w *HTTP) Ask(ctx context.Context, hold dibs.SuspectHold) (dibs.Verdict, error) {
	select {
	case w.slots <- struct{}{}:
		defer func() { <-w.slots }()
	case <-ctx.Done():
		return dibs.Unknown, fmt.Errorf("other questions took too long: %w", ctx.Err())
	}
	ctx, cancel := context.WithTimeout(ctx, w.config.Timeout)
	defer cancel()
	body, err := json.Marshal(questionOf(hold))
	if err != nil {
		return dibs.Unknown, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.config.URL, bytes.NewReader(body))
	if err != nil {
		return dibs.Unknown, withoutURL(err)
	}
	request.Header = w.config.Header.Clone()
	if request.Header == nil {
		request.Header = make(http.Header)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	// There is no Idempotency-Key: a service that stores answers would repeat an outdated one.
	response, err := w.client.Do(request)
	if err != nil {
		return dibs.Unknown, w.unreachable(ctx, err)
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	verdict, err := readAnswer(response)
	if err != nil && ctx.Err() != nil {
		return dibs.Unknown, w.unreachable(ctx, err)
	}
	return verdict, err
}

// Close closes idle connections.
func (w *HTTP) Close() error {
	w.client.CloseIdleConnections()
	return nil
}

// unreachable returns the error for a question without an answer.
func (w *HTTP) unreachable(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("the service gave no answer within %s: %w", w.config.Timeout, context.DeadlineExceeded)
	}
	return fail("the service could not be asked", withoutURL(err))
}

// withoutURL removes the URL from an error.
func withoutURL(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}
