package webhook_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/webhook"
)

// One event that is never accepted does not block the events of other names, even if the
// receiver seems to be down because there are no others for a while.
func TestOneBadEventIsNotAReceiverThatIsDown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	in := newReceiver(t, refuseOnly("bad", http.StatusInternalServerError))
	hook, _ := r.hook(in.URL)
	r.deliver()
	r.claim("slug", "bad", "1")
	eventually(t, "the receiver seems to be down", func() bool { return r.status(hook).Failed >= 2*webhook.FailuresUntilDown })
	r.claim("slug", "good", "2")
	eventually(t, "the other event is accepted", func() bool { return len(in.accepted()) == 1 })
}

// A value that was forgotten while its event waited is not sent.
func TestForgottenWhileWaiting(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	in := newReceiver(t, always(http.StatusServiceUnavailable))
	r.hook(in.URL)
	r.deliver()
	r.claim("slug", "secret-of-alice", "alice")
	r.claim("slug", "bobs", "bob")
	eventually(t, "deliveries fail", func() bool { return len(in.got()) >= 3 })
	_, err := r.registry.As(dibs.Principal{Rights: dibs.Operate}).Forget(context.Background(),
		dibs.ForgetRequest{Entity: dibs.Entity{Type: "user", ID: "alice"}})
	if err != nil {
		t.Fatal(err)
	}
	tried := len(in.got())
	eventually(t, "deliveries still fail", func() bool { return len(in.got()) >= tried+20 })
	in.set(nil)
	eventually(t, "the last event is accepted", func() bool {
		return slices.ContainsFunc(in.accepted(), func(q request) bool { return q.event.Data.Kind == string(dibs.EventForgotten) })
	})
	for _, q := range in.accepted() {
		if strings.Contains(string(q.body), "alice") {
			t.Errorf("a forgotten value was sent: %s", q.body)
		}
	}
}
