// Package witness has witnesses that ask a service by HTTP, or a database by SQL, whether the
// entity of an expired hold exists. See [dibs.Witness] for the meaning of their verdicts.
//
// Both answer "unknown" in any doubt: if the service is down, the address is wrong, a proxy
// answers instead of the service, or the query fails. Only the answer "absent" frees a name.
//
//	orders, err := witness.NewHTTP(witness.HTTPConfig{URL: "https://orders.internal/witness"})
//	…
//	defer orders.Close()
//	policy := dibs.Policy{Witness: orders.Ask}
package witness

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/exactjson"
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
	maps.Copy(request.Header, w.config.Header.Clone())
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

func withoutURL(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}

// maxAnswer is the largest size of an answer in bytes.
const maxAnswer = 64 << 10

type question struct {
	ReservationID string            `json:"reservationId"`
	Key           string            `json:"key"`
	Namespace     string            `json:"namespace"`
	Value         string            `json:"value"`
	Canonical     string            `json:"canonical"`
	Epoch         uint64            `json:"epoch"`
	Entity        *entity           `json:"entity,omitempty"`
	CorrelationID string            `json:"correlationId,omitempty"`
	Meta          map[string]string `json:"meta,omitempty"`
	Principal     string            `json:"principal,omitempty"`
	CreatedAt     string            `json:"createdAt"`
	ExpiresAt     string            `json:"expiresAt"`
	AskedAt       string            `json:"askedAt"`
}

type entity struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

func questionOf(hold dibs.SuspectHold) question {
	q := question{
		ReservationID: hold.ID.String(), Key: hold.Key(), Namespace: hold.Namespace, Value: hold.Value, Canonical: hold.Canonical,
		Epoch: hold.Epoch, CorrelationID: hold.CorrelationID, Meta: hold.Meta, Principal: hold.Principal,
		CreatedAt: formatTime(hold.CreatedAt), ExpiresAt: formatTime(hold.ExpiresAt), AskedAt: formatTime(hold.AskedAt),
	}
	if !hold.Entity.IsZero() {
		q.Entity = &entity{hold.Entity.Type, hold.Entity.ID}
	}
	return q
}

// formatTime formats a time as the server's API does.
func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// answer is the body of a response. Other members are ignored.
type answer struct {
	Outcome string  `json:"outcome"`
	Entity  *entity `json:"entity"`
	Reason  string  `json:"reason"` // for unknown
}

// readAnswer returns the verdict in a response. It refuses every inexact answer: the page of a
// proxy, or of a service that moved, must not free a name.
func readAnswer(response *http.Response) (dibs.Verdict, error) {
	if response.StatusCode != http.StatusOK {
		return dibs.Unknown, fmt.Errorf("the service answered %d %s, want 200",
			response.StatusCode, http.StatusText(response.StatusCode))
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return dibs.Unknown, fmt.Errorf("the answer broke off: %w", err)
	case len(text) > maxAnswer:
		return dibs.Unknown, fmt.Errorf("the answer has more than %d bytes", maxAnswer)
	}
	// No error contains the answer, which may be secret.
	var a answer
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&a); err != nil {
		return dibs.Unknown, errors.New(`the answer is not JSON like {"outcome": "unknown"}`)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return dibs.Unknown, errors.New("the answer has something behind the JSON")
	}
	if ambiguous(text) {
		return dibs.Unknown, errors.New(`the answer has a member twice, or in another spelling than "outcome", "entity" and "reason"`)
	}
	return a.verdict()
}

// ambiguous reports whether another decoder could read an answer differently.
func ambiguous(text []byte) bool {
	object, err := exactjson.Object(text)
	entity, _ := object["entity"].(map[string]any)
	return err != nil || exactjson.HasVariant(object, "outcome", "entity", "reason") || exactjson.HasVariant(entity, "type", "id")
}

func (a answer) verdict() (dibs.Verdict, error) {
	switch {
	case a.Outcome == "exists" && (a.Entity == nil || a.Entity.Type == "" || a.Entity.ID == ""):
		return dibs.Unknown, errors.New(`the answer "exists" does not say which entity: "entity" must have "type" and "id"`)
	case a.Outcome == "exists":
		return dibs.Exists(dibs.Entity{Type: a.Entity.Type, ID: a.Entity.ID}), nil
	case a.Outcome == "absent" && a.Entity != nil:
		return dibs.Unknown, errors.New(`the answer "absent" must not name an entity`)
	case a.Outcome == "absent":
		return dibs.Absent, nil
	case a.Outcome == "unknown":
		return dibs.UnknownBecause(a.Reason), nil
	default:
		return dibs.Unknown, errors.New(`"outcome" in the answer must be "exists", "absent" or "unknown"`)
	}
}

// failure is an error with two texts: the whole one for the log, and a short one that the
// registry shows with the name, without hosts, users and tables.
type failure struct {
	doubt string // the short text
	err   error
}

func fail(doubt string, err error) error { return &failure{doubt, err} }

func (f *failure) Error() string { return fmt.Sprintf("%s: %v", f.doubt, f.err) }

func (f *failure) Unwrap() error { return f.err }

func (f *failure) Doubt() string { return f.doubt + "; the log says why" }
