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
	// DefaultTimeout is how long one question may take.
	DefaultTimeout = 5 * time.Second
	// DefaultAtOnce is how many questions are asked at once.
	DefaultAtOnce = 4
)

// HTTPConfig says how to ask a service.
type HTTPConfig struct {
	// URL is what questions are sent to, by POST.
	URL string
	// Header is sent with each question. Nil means nothing but what HTTP needs.
	Header http.Header
	// TLS is how to tell that the service is the right one. Nil means by the system's
	// authorities.
	TLS *tls.Config
	// Timeout is how long one question may take. Zero means [DefaultTimeout].
	Timeout time.Duration
	// AtOnce is how many questions are asked at once. Zero means [DefaultAtOnce].
	AtOnce int
}

// HTTP is a witness that asks a service. It is safe for concurrent use.
type HTTP struct {
	config HTTPConfig
	client *http.Client
	slots  chan struct{} // one taken by each question under way
}

var _ dibs.Witness = (*HTTP)(nil).Ask

// NewHTTP returns a witness that asks a service. Nothing is sent before it is asked.
func NewHTTP(cfg HTTPConfig) (*HTTP, error) {
	if err := checkURL(cfg.URL); err != nil {
		return nil, err
	}
	cfg.Timeout = cmp.Or(cfg.Timeout, DefaultTimeout)
	cfg.AtOnce = cmp.Or(cfg.AtOnce, DefaultAtOnce)
	if cfg.Timeout < 0 || cfg.AtOnce < 0 {
		return nil, errors.New("witness: Timeout and AtOnce must not be negative")
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true} // programs may have another one by default
	if usual, ok := http.DefaultTransport.(*http.Transport); ok {
		transport = usual.Clone()
	}
	transport.TLSClientConfig = cfg.TLS.Clone() // which is nil for nil
	transport.MaxIdleConnsPerHost = cfg.AtOnce
	return &HTTP{
		config: cfg,
		client: &http.Client{
			Transport: transport,
			// Whoever redirects is not the service, or not at this address: what stands at the
			// other end may say "absent" about something else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		slots: make(chan struct{}, cfg.AtOnce),
	}, nil
}

// checkURL refuses what questions cannot be sent to. The URL is in no error: there may be a
// secret in it.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New(`the URL is not well-formed: write it like "https://orders.internal/witness"`)
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return errors.New(`the URL must begin with http:// or https:// and a host`)
	case u.User != nil:
		return errors.New("the URL must not have a password in it: send a header")
	case u.Fragment != "":
		return errors.New("the URL must not have a # in it")
	}
	return nil
}

// Ask asks the service about a hold. Every error comes with [dibs.Unknown].
func (w *HTTP) Ask(ctx context.Context, hold dibs.SuspectHold) (dibs.Verdict, error) {
	select {
	case w.slots <- struct{}{}:
		defer func() { <-w.slots }()
	case <-ctx.Done():
		return dibs.Unknown, fmt.Errorf("others were asked about for too long: %w", ctx.Err())
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
	// There is no Idempotency-Key: whoever keeps answers by it would repeat an old one, and what
	// is asked again may have another answer by now.
	response, err := w.client.Do(request)
	if err != nil {
		return dibs.Unknown, w.unreachable(ctx, err)
	}
	defer func() { _ = response.Body.Close() }() // nothing more is wanted of it
	verdict, err := readAnswer(response)
	if err != nil && ctx.Err() != nil {
		return dibs.Unknown, w.unreachable(ctx, err)
	}
	return verdict, err
}

// Close ends the connections that nobody uses.
func (w *HTTP) Close() error {
	w.client.CloseIdleConnections()
	return nil
}

// unreachable says why there is no answer.
func (w *HTTP) unreachable(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("it gave no answer within %s: %w", w.config.Timeout, context.DeadlineExceeded)
	}
	return fail("it could not be asked", withoutURL(err))
}

// withoutURL takes the URL out of an error.
func withoutURL(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}
