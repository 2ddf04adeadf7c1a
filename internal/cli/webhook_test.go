package cli_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/core"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/cli"
	"github.com/calldibs/dibs/internal/server"
	"github.com/calldibs/dibs/internal/webhook"
	"github.com/calldibs/dibs/internal/wire"
	"github.com/calldibs/dibs/memstore"
)

// The life of a webhook: a receiver that fails, dead letters, and resending them.
func TestWebhookLife(t *testing.T) {
	t.Parallel()
	var status atomic.Int64
	var secret atomic.Value
	status.Store(http.StatusInternalServerError)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if verifier, err := standardwebhooks.NewWebhook(secret.Load().(string)); err != nil || verifier.Verify(body, r.Header) != nil {
			t.Error("the signature is invalid")
		}
		w.WriteHeader(int(status.Load()))
	}))
	t.Cleanup(receiver.Close)
	address := serveWebhooks(t)
	dibs := func(into any, code int, args ...string) {
		t.Helper()
		o := run(cli.Process{Args: append(args, "--json", "--server", address, "--key", "key")})
		if o.code != code {
			t.Fatalf("%v: exit code %d, want %d\n%s%s", args, o.code, code, o.stdout, o.stderr)
		}
		if into != nil {
			if err := json.Unmarshal([]byte(o.stdout), into); err != nil {
				t.Fatal(err)
			}
		}
	}
	var hook wire.Webhook
	dibs(&hook, 0, "webhook", "add", receiver.URL)
	secret.Store(hook.Secret)
	dibs(nil, cli.ExitRefused, "webhook", "test", hook.ID)
	for _, name := range []string{"alice", "bob", "carol"} {
		dibs(nil, 0, "claim", "slug", name, "--entity", "user/"+name)
	}
	var letters wire.DeadLetterPage
	for end := time.Now().Add(time.Minute); len(letters.DeadLetters) < 3 && time.Now().Before(end); {
		dibs(&letters, 0, "webhook", "dead", "list", hook.ID)
	}
	if len(letters.DeadLetters) != 3 {
		t.Fatalf("the dead letters are %+v", letters)
	}
	first, second := letters.DeadLetters[0].ID, letters.DeadLetters[1].ID
	var letter wire.DeadLetter
	dibs(&letter, 0, "webhook", "dead", "show", hook.ID, first)
	if letter.Event == nil || !strings.HasPrefix(letter.Event.Key, "slug:") {
		t.Errorf("the letter is %+v", letter)
	}
	dibs(nil, cli.ExitRefused, "webhook", "dead", "resend", hook.ID, first)
	dibs(nil, cli.ExitRefused, "webhook", "dead", "resend", hook.ID, "--all")
	status.Store(http.StatusOK)
	dibs(nil, 0, "webhook", "dead", "resend", hook.ID, first)
	dibs(nil, 0, "webhook", "dead", "remove", hook.ID, second)
	var resent wire.DeadLettersResent
	dibs(&resent, 0, "webhook", "dead", "resend", hook.ID, "--all")
	if resent.Delivered != 1 || resent.Left != 0 {
		t.Errorf("%+v", resent)
	}
	dibs(nil, cli.ExitNotFound, "webhook", "dead", "show", hook.ID, first)
	dibs(&hook, 0, "webhook", "set", hook.ID, "--disable")
	dibs(nil, 0, "webhook", "remove", hook.ID)
	dibs(nil, cli.ExitNotFound, "webhook", "show", hook.ID)
	for _, args := range [][]string{{"webhook", "list"}, {"webhook", "show", hook.ID}} {
		o := run(cli.Process{Args: append(args, "--server", address)})
		if o.code != cli.ExitRefused || !strings.Contains(o.stderr, "DIBS_KEY") {
			t.Errorf("without a key: %+v", o)
		}
	}
}

// serveWebhooks starts a server that may deliver to this machine, gives up soon, and requires the
// key "key".
func serveWebhooks(t *testing.T) string {
	t.Helper()
	store := memstore.New(memstore.Config{})
	registry, err := core.Open(store, dibs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	webhooks := webhook.New(webhook.Config{
		Registry: registry, Store: store, AllowPrefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Pauses: []time.Duration{10 * time.Millisecond}, GiveUpAfter: 10 * time.Millisecond,
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		webhooks.Deliver(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		_ = registry.Close()
	})
	return serve(t, server.Config{Registry: registry, Store: store, Webhooks: webhooks}, "key")
}
