package webhook_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/webhook"
)

const (
	firstSecret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
	otherSecret = "whsec_YWJjZGVmZ2hpamFiY2RlZmdoaWphYmNkZWZnaGlqYWI="
)

// Declare creates, changes and stops the webhooks of a configuration, and nothing else changes
// them.
func TestDeclare(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := t.Context()
	declared := func(url, secret string) webhook.Declared {
		return webhook.Declared{Name: "shop", Secret: secret, Hook: webhook.Hook{
			URL: url, Namespaces: []string{"*"}, Enabled: true, DeclaredIn: "dibs.toml:7",
		}}
	}
	declare := func(hooks ...webhook.Declared) *webhook.Hook {
		t.Helper()
		if err := r.service.Declare(ctx, hooks); err != nil {
			t.Fatal(err)
		}
		hook, err := r.service.Get(ctx, "wh_shop")
		if err != nil {
			t.Fatal(err)
		}
		return hook
	}
	own, _, err := r.service.Create(ctx, webhook.Hook{URL: "https://own.example/", Namespaces: []string{"*"}, Enabled: true}, "")
	if err != nil {
		t.Fatal(err)
	}
	first := declare(declared("https://shop.example/", firstSecret))
	if !first.Enabled || first.URL != "https://shop.example/" || len(first.Secrets) != 1 || first.Secrets[0].Text != firstSecret {
		t.Errorf("it is %+v", first)
	}
	if again := declare(declared("https://shop.example/", firstSecret)); again.Rev() != first.Rev() {
		t.Error("it was written without a change")
	}
	changed := declare(declared("https://shop.example/new", otherSecret))
	if changed.URL != "https://shop.example/new" || len(changed.Secrets) != 2 || changed.Secrets[0].Text != otherSecret || changed.Secrets[1].Text != firstSecret {
		t.Errorf("it is %+v", changed)
	}
	_, changing := r.service.Change(ctx, "wh_shop", func(*webhook.Hook) error { return nil })
	_, _, rotating := r.service.Rotate(ctx, "wh_shop", 0)
	for what, err := range map[string]error{"change": changing, "rotate": rotating, "remove": r.service.Remove(ctx, "wh_shop")} {
		if !errors.Is(err, webhook.ErrDeclared) || !strings.Contains(err.Error(), "dibs.toml:7") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if gone := declare(); gone.Enabled || gone.DeclaredIn != "" || gone.Stopped == "" {
		t.Errorf("after it is gone from the file: %+v", gone)
	}
	if back := declare(declared("https://shop.example/", firstSecret)); !back.Enabled || back.Stopped != "" {
		t.Errorf("declared again: %+v", back)
	}
	declare()
	if err := r.service.Remove(ctx, "wh_shop"); err != nil {
		t.Error(err)
	}
	if hook, err := r.service.Get(ctx, own.ID); err != nil || !hook.Enabled || hook.URL != "https://own.example/" {
		t.Errorf("another webhook: %+v, %v", hook, err)
	}
	if err := r.service.Declare(ctx, []webhook.Declared{declared("http://169.254.169.254/", firstSecret)}); !errors.Is(err, webhook.ErrInvalid) {
		t.Errorf("a forbidden address: %v", err)
	}
}

func TestCheckSecret(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{firstSecret: true, "whsec_c2hvcnQ=": false, "hunter2": false, "whsec_!!": false, "": false} {
		if err := webhook.CheckSecret(text); (err == nil) != good || err != nil && text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
