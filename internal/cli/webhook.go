package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs/internal/wire"
)

// webhookCommand returns the commands about webhooks.
func (s *session) webhookCommand() *cobra.Command {
	return s.group("webhook",
		s.webhookAdd(),
		s.onAPI("webhook list", func(ctx context.Context, a *api, _ []string) (*answer, error) {
			return request(ctx, a, http.MethodGet, "/v1/webhooks", nil, showWebhooks)
		}),
		s.onAPI("webhook show", func(ctx context.Context, a *api, args []string) (*answer, error) {
			return request(ctx, a, http.MethodGet, hookPath(args[0]), nil, showWebhook)
		}),
		s.webhookSet(),
		s.webhookRotate(),
		s.onAPI("webhook test", func(ctx context.Context, a *api, args []string) (*answer, error) {
			return attempted(call[wire.WebhookAttempt](ctx, a, http.MethodPost, hookPath(args[0], "test"), nil))
		}),
		s.webhookRemove(),
		s.deadCommand(),
	)
}

// hookPath returns the path of a webhook.
func hookPath(id string, more ...string) string {
	return "/v1/webhooks/" + strings.Join(wire.ListOf(append([]string{id}, more...), url.PathEscape), "/")
}

func (s *session) webhookAdd() *cobra.Command {
	var (
		wanted   wire.WebhookRequest
		disabled bool
	)
	cmd := s.onAPI("webhook add", func(ctx context.Context, a *api, args []string) (*answer, error) {
		wanted.URL = args[0]
		if disabled {
			wanted.Enabled = new(bool)
		}
		return request(ctx, a, http.MethodPost, "/v1/webhooks", wanted, func(p *printer, hook wire.Webhook) {
			p.line("%s sends events to %s", hook.ID, hook.URL)
			p.line("")
			showSecret(p, hook)
		})
	})
	flags := cmd.Flags()
	flags.StringSliceVar(&wanted.Namespaces, "namespace", nil,
		"`patterns` of namespaces: slug, 'acme.*' (default: all that you have the rights to)")
	flags.StringSliceVar(&wanted.Kinds, "kind", nil, "`kinds` of event (default: all)")
	flags.StringVar(&wanted.From, "from", "now", "where in the feed it begins: now, beginning, or a `cursor`")
	flags.StringVar(&wanted.Description, "description", "", "a `text` for people")
	flags.BoolVar(&disabled, "disabled", false, "do not send yet")
	return cmd
}

// showSecret prints the secret of a webhook.
func showSecret(p *printer, hook wire.Webhook) {
	p.line("%s", hook.Secret)
	p.line("")
	p.line("This secret is shown only once. The receiver needs it to verify deliveries.")
}

func (s *session) webhookSet() *cobra.Command {
	var (
		address, description string
		namespaces, kinds    []string
		enable, disable      bool
		given                func(flag string) bool
	)
	cmd := s.onAPI("webhook set", func(ctx context.Context, a *api, args []string) (*answer, error) {
		var change wire.WebhookChange
		if given("url") {
			change.URL = &address
		}
		if given("description") {
			change.Description = &description
		}
		if given("namespace") {
			change.Namespaces = &namespaces
		}
		if given("kind") {
			change.Kinds = &kinds
		}
		if enable || disable {
			change.Enabled = &enable
		}
		return request(ctx, a, http.MethodPatch, hookPath(args[0]), change, showWebhook)
	})
	flags := cmd.Flags()
	given = flags.Changed
	flags.StringVar(&address, "url", "", "send to this `url`")
	flags.StringVar(&description, "description", "", "a `text` for people")
	flags.StringSliceVar(&namespaces, "namespace", nil, "replace the `patterns` of namespaces")
	flags.StringSliceVar(&kinds, "kind", nil, "replace the `kinds` of event; --kind= means all")
	flags.BoolVar(&enable, "enable", false, "send events, and retry failed ones now")
	flags.BoolVar(&disable, "disable", false, "stop sending; events wait in the feed")
	cmd.MarkFlagsMutuallyExclusive("enable", "disable")
	cmd.MarkFlagsOneRequired("url", "description", "namespace", "kind", "enable", "disable")
	return cmd
}

func (s *session) webhookRotate() *cobra.Command {
	var grace time.Duration
	cmd := s.onAPI("webhook rotate", func(ctx context.Context, a *api, args []string) (*answer, error) {
		ms := grace.Milliseconds()
		return request(ctx, a, http.MethodPost, hookPath(args[0], "rotate"), wire.WebhookRotation{GraceMs: &ms}, showSecret)
	})
	cmd.Flags().DurationVar(&grace, "grace", 24*time.Hour, "how long the old secret also signs")
	return cmd
}

func (s *session) webhookRemove() *cobra.Command {
	var yes bool
	cmd := s.onAPI("webhook remove", func(ctx context.Context, a *api, args []string) (*answer, error) {
		if err := s.sure(yes, "This removes "+args[0]+" with its dead letters."); err != nil {
			return nil, err
		}
		return request(ctx, a, http.MethodDelete, hookPath(args[0]), nil, func(p *printer, _ wire.Removed) {
			p.line("%s removed", args[0])
		})
	})
	yesVar(cmd, &yes)
	return cmd
}

// attempted returns the answer of an attempt. A failed one sets the exit code.
func attempted(attempt wire.WebhookAttempt, err error) (*answer, error) {
	if err != nil {
		return nil, err
	}
	if !attempt.Delivered {
		err = exitError{ExitRefused}
	}
	return &answer{attempt, func(p *printer) { p.line("%s", attemptText(attempt)) }}, err
}

func attemptText(a wire.WebhookAttempt) string {
	if a.Delivered {
		return fmt.Sprintf("delivered: the receiver answered %d after %d ms", a.Status, a.TookMs)
	}
	return "not delivered: " + a.Error
}

func showWebhooks(p *printer, list wire.WebhookList) {
	p.list("No webhooks.", []string{"webhook", "url", "namespaces", "kinds", "enabled", "by", "description"},
		wire.ListOf(list.Webhooks, func(h wire.Webhook) []string {
			return []string{h.ID, h.URL, join(h.Namespaces), join(h.Kinds), enabledText(h), h.CreatedBy, h.Description}
		}))
}

func enabledText(h wire.Webhook) string {
	switch {
	case h.Enabled:
		return "yes"
	case h.Stopped != "":
		return "no: " + h.Stopped
	default:
		return "no"
	}
}

// shortDate formats a time of the API.
func shortDate(text string) string {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	return date(t)
}

func showWebhook(p *printer, h wire.Webhook) {
	p.fields(
		[2]string{"webhook", h.ID},
		[2]string{"url", h.URL},
		[2]string{"description", h.Description},
		[2]string{"namespaces", join(h.Namespaces)},
		[2]string{"kinds", join(h.Kinds)},
		[2]string{"enabled", enabledText(h)},
		[2]string{"created", shortDate(h.CreatedAt)},
		[2]string{"by", h.CreatedBy},
	)
	s := h.Status
	if s == nil {
		return
	}
	behind := fmt.Sprint(s.Behind)
	if s.More {
		behind += " or more"
	}
	p.line("")
	p.fields(
		[2]string{"delivered", fmt.Sprint(s.Delivered)},
		[2]string{"failures", fmt.Sprint(s.Failed)},
		[2]string{"not yet delivered", behind},
		[2]string{"oldest", shortDate(s.OldestAt)},
		[2]string{"waiting", fmt.Sprint(s.Waiting)},
		[2]string{"paused until", shortDate(s.PausedUntil)},
		[2]string{"dead letters", fmt.Sprint(s.DeadLetters)},
		[2]string{"last success", shortDate(s.LastSuccess)},
		[2]string{"last failure", shortDate(s.LastFailure)},
		[2]string{"last error", s.LastError},
	)
	if s.Dropped > 0 {
		p.line("")
		p.line("%s dropped, because there were too many", count(s.Dropped, "dead letter", "dead letters"))
	}
}

// deadCommand returns the commands about dead letters.
func (s *session) deadCommand() *cobra.Command {
	return s.group("webhook dead",
		s.deadList(),
		s.onAPI("webhook dead show", func(ctx context.Context, a *api, args []string) (*answer, error) {
			return request(ctx, a, http.MethodGet, hookPath(args[0], "deadletters", args[1]), nil, showLetter)
		}),
		s.oneOrAll("webhook dead resend", "all of them, oldest first", resendLetters),
		s.deadRemove(),
	)
}

func (s *session) deadList() *cobra.Command {
	var (
		limit  int
		cursor string
	)
	cmd := s.onAPI("webhook dead list", func(ctx context.Context, a *api, args []string) (*answer, error) {
		query := url.Values{"limit": {strconv.Itoa(limit)}, "cursor": {cursor}}
		return request(ctx, a, http.MethodGet, hookPath(args[0], "deadletters")+"?"+query.Encode(), nil, showLetters)
	})
	cmd.Flags().IntVar(&limit, "limit", 100, "how many, at most 1,000")
	cmd.Flags().StringVar(&cursor, "cursor", "", "continue after this `cursor`")
	return cmd
}

func showLetters(p *printer, list wire.DeadLetterPage) {
	p.list("No dead letters.", []string{"letter", "at", "event", "where", "id", "attempts", "error"},
		wire.ListOf(list.DeadLetters, func(l wire.DeadLetter) []string {
			return []string{l.ID, shortDate(l.EventAt), l.Kind, l.Where, l.ReservationID, strconv.Itoa(l.Attempts), l.LastError}
		}))
	p.next("There may be more: use", list.NextCursor)
}

func showLetter(p *printer, l wire.DeadLetter) {
	key := "no longer in the feed"
	if l.Event != nil {
		key = l.Event.Key
		if e := l.Event.Entity; key == "" && e != nil {
			key = e.Type + "/" + e.ID
		}
	}
	p.fields(
		[2]string{"letter", l.ID},
		[2]string{"event", l.Kind},
		[2]string{"about", key},
		[2]string{"where", l.Where},
		[2]string{"id", l.ReservationID},
		[2]string{"at", shortDate(l.EventAt)},
		[2]string{"given up", shortDate(l.DeadAt)},
		[2]string{"attempts", fmt.Sprint(l.Attempts)},
		[2]string{"last error", l.LastError},
	)
}

// oneOrAll returns a command on one dead letter of a webhook, or with --all on all of them.
func (s *session) oneOrAll(
	path, help string, do func(ctx context.Context, a *api, hook string, letter ...string) (*answer, error),
) *cobra.Command {
	var all bool
	cmd := s.onAPI(path, func(ctx context.Context, a *api, args []string) (*answer, error) {
		if all == (len(args) == 2) {
			return nil, usage("name a letter, or use --all")
		}
		return do(ctx, a, args[0], args[1:]...)
	})
	cmd.Flags().BoolVar(&all, "all", false, help)
	return cmd
}

func (s *session) deadRemove() *cobra.Command {
	var yes bool
	cmd := s.oneOrAll("webhook dead remove", "all of them", func(ctx context.Context, a *api, hook string, letter ...string) (*answer, error) {
		what := "all dead letters of " + hook
		if len(letter) == 1 {
			what = "the dead letter " + letter[0]
		}
		if err := s.sure(yes, "This removes "+what+"."); err != nil {
			return nil, err
		}
		return removeLetters(ctx, a, hook, letter...)
	})
	yesVar(cmd, &yes)
	return cmd
}

func removeLetters(ctx context.Context, a *api, hook string, letter ...string) (*answer, error) {
	path := hookPath(hook, append([]string{"deadletters"}, letter...)...)
	return request(ctx, a, http.MethodDelete, path, nil, func(p *printer, removed wire.Removed) {
		p.line("%s removed", count(removed.Removed, "dead letter", "dead letters"))
	})
}

// resendLetters sends one letter again. For all of them it repeats the call until nothing is left,
// an event fails, or a call achieves nothing.
func resendLetters(ctx context.Context, a *api, hook string, letter ...string) (*answer, error) {
	if len(letter) == 1 {
		return attempted(call[wire.WebhookAttempt](ctx, a, http.MethodPost, hookPath(hook, "deadletters", letter[0], "resend"), nil))
	}
	var sum wire.DeadLettersResent
	for {
		some, err := call[wire.DeadLettersResent](ctx, a, http.MethodPost, hookPath(hook, "deadletters", "resend"), nil)
		if err != nil {
			return nil, err
		}
		sum.Delivered, sum.Purged = sum.Delivered+some.Delivered, sum.Purged+some.Purged
		sum.Left, sum.Failed = some.Left, some.Failed
		if some.Failed != nil || some.Left == 0 || some.Delivered+some.Purged == 0 {
			break
		}
	}
	var err error
	if sum.Failed != nil {
		err = exitError{ExitRefused}
	}
	return &answer{sum, func(p *printer) {
		p.line("%s delivered, %d left", count(sum.Delivered, "dead letter", "dead letters"), sum.Left)
		if sum.Purged > 0 {
			p.line("%s removed: the feed no longer has the event", count(sum.Purged, "dead letter", "dead letters"))
		}
		if sum.Failed != nil {
			p.line("%s", attemptText(*sum.Failed))
		}
	}}, err
}
