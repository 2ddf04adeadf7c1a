package webhook

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/calldibs/dibs"
)

// ErrDeclared means that the configuration declares the webhook, so that only the configuration
// changes it.
var ErrDeclared = errors.New("webhook: this webhook is declared in the server's configuration: change it there, and reload or restart the server")

// notDeclared is why a webhook stops that the configuration no longer has.
const notDeclared = "the configuration no longer declares it"

// Declared is a webhook of the server's configuration.
type Declared struct {
	// Name identifies it; see [CheckName]. Its id is the name behind "wh_".
	Name string
	// Hook has the URL, the description, the namespaces, the kinds, whether it is enabled, and
	// where it is declared. The rest is ignored.
	Hook
	// Secret signs its deliveries, see [CheckSecret].
	Secret string
	// From is where it begins in the feed when it is declared first, see [Service.Create].
	From string
}

var declaredName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

// CheckName reports what is wrong with the name of a declared webhook.
func CheckName(name string) error {
	if !declaredName.MatchString(name) {
		return fmt.Errorf("%.80q is not a valid name: use a letter, and up to 39 more of a-z, 0-9 and hyphens", name)
	}
	return nil
}

// CheckSecret reports what is wrong with a secret. The error does not contain it.
func CheckSecret(text string) error {
	if _, err := standardwebhooks.NewWebhook(text); err != nil || len(text) < len("whsec_")+32 {
		return errors.New(`is not the secret of a webhook: it is "whsec_" and 24 random bytes or more in base64, as by "echo whsec_$(openssl rand -base64 32)"`)
	}
	return nil
}

// Check reports what is wrong with a webhook, if it would be sent by this configuration.
func (c Config) Check(hook Hook) *InvalidError {
	wrong, _ := errors.AsType[*InvalidError](hook.validate(NewGuard(c.AllowPrefixes...)))
	return wrong
}

// Declare makes the stored webhooks those of a configuration: it creates and changes the declared
// ones, and stops those that were declared before. Others stay as they are.
func (s *Service) Declare(ctx context.Context, hooks []Declared) error {
	ids := make(map[string]bool)
	for _, declared := range hooks {
		id := "wh_" + declared.Name
		ids[id] = true
		if err := s.declare(ctx, id, declared); err != nil {
			return fmt.Errorf("webhook %s: %w", declared.Name, err)
		}
	}
	stored, err := s.List(ctx)
	for _, hook := range stored {
		if hook.DeclaredIn == "" || ids[hook.ID] {
			continue
		}
		_, stopped := s.change(ctx, hook.ID, func(hook *Hook, _ dibs.Instant) error {
			hook.DeclaredIn, hook.Enabled, hook.Stopped = "", false, notDeclared
			return nil
		})
		err = errors.Join(err, stopped)
	}
	return err
}

// declare creates or changes one webhook. One that is as declared is not written.
func (s *Service) declare(ctx context.Context, id string, declared Declared) error {
	if err := declared.validate(s.guard); err != nil {
		return err
	}
	start, err := s.start(ctx, declared.From)
	if err != nil {
		return err
	}
	d, st := hookDocOf(id), stateDocOf(id)
	err = update(ctx, s.cfg.Store, []anyDoc{d, st}, func(c *change, now dibs.Instant) error {
		hook := d.content
		if !d.exists() {
			hook = Hook{CreatedAt: now, Enabled: declared.Enabled}
			st.content = state{Cursor: start}
			c.save(st)
		}
		if hook.apply(declared, now) || !d.exists() {
			d.content = hook
			c.save(d)
		}
		return nil
	})
	s.notify()
	return err
}

// apply makes a stored webhook as declared, and reports whether that changed it. A replaced secret
// also signs for a day.
func (h *Hook) apply(declared Declared, now dibs.Instant) (changed bool) {
	want := declared.Hook
	changed = h.URL != want.URL || h.Description != want.Description || !slices.Equal(h.Namespaces, want.Namespaces) ||
		!slices.Equal(h.Kinds, want.Kinds) || h.Enabled != want.Enabled || h.DeclaredIn != want.DeclaredIn
	if h.URL != want.URL || want.Enabled && !h.Enabled {
		h.RetryAt, h.Stopped = now, ""
	}
	h.URL, h.Description, h.Namespaces, h.Kinds = want.URL, want.Description, want.Namespaces, want.Kinds
	h.Enabled, h.DeclaredIn = want.Enabled, want.DeclaredIn
	if len(h.Secrets) == 0 || h.Secrets[0].Text != declared.Secret {
		h.Secrets = rotated(h.Secrets, now, now.Add(DefaultGrace))
		h.Secrets[0].Text = declared.Secret
		changed = true
	}
	return changed
}
