package cli

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs/internal/wire"
)

// webhookCommand returns the commands about webhooks.
func (s *session) webhookCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:     "webhook",
		GroupID: groupOperate,
		Short:   "Send events to other services, and manage failed deliveries",
		Long: `Send events to other services, and manage failed deliveries.

These commands configure webhooks, and servers deliver the events. They work on a
server, or on the store itself: its servers notice changes within two seconds.`,
	}, s.webhookAdd(), s.webhookList(), s.webhookShow(), s.webhookSet(), s.webhookRotate(), s.webhookTest(), s.webhookRemove(),
		s.deadCommand())
}

// apiCommand completes a command that calls the API.
func (s *session) apiCommand(cmd *cobra.Command, do func(ctx context.Context, a *api, args []string) (*answer, error)) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return s.onAPI(cmd.Context(), func(a *api) (*answer, error) { return do(cmd.Context(), a, args) })
	}
	return cmd
}

// hookPath returns the path of a webhook.
func hookPath(id string, more ...string) string {
	segments := append([]string{id}, more...)
	for i, segment := range segments {
		segments[i] = url.PathEscape(segment)
	}
	return "/v1/webhooks/" + strings.Join(segments, "/")
}

func (s *session) webhookAdd() *cobra.Command {
	var (
		request  wire.WebhookRequest
		disabled bool
	)
	cmd := s.apiCommand(&cobra.Command{
		Use: "add URL", Short: "Send events to a URL, and print the signing secret, once", Args: cobra.ExactArgs(1),
		Long: `Send events to a URL, and print the signing secret, once.

The URL must begin with https:// and be public, unless the server's configuration
allows others.`,
		Example: indent(`dibs webhook add https://example.com/dibs --namespace 'acme.*' --server http://127.0.0.1:8080
dibs webhook add https://example.com/dibs --kind confirmed,claimed,given_up --from beginning --store sqlite:dibs.db`),
	}, func(ctx context.Context, a *api, args []string) (*answer, error) {
		request.URL = args[0]
		if disabled {
			request.Enabled = new(bool)
		}
		return shown(func(p *printer, hook wire.Webhook) {
			p.line("%s sends events to %s", hook.ID, hook.URL)
			p.line("")
			showSecret(p, hook)
		})(call[wire.Webhook](ctx, a, http.MethodPost, "/v1/webhooks", request))
	})
	flags := cmd.Flags()
	flags.StringSliceVar(&request.Namespaces, "namespace", nil,
		"`patterns` of namespaces: slug, 'acme.*' (default: all that you have the rights to)")
	flags.StringSliceVar(&request.Kinds, "kind", nil, "`kinds` of event (default: all)")
	flags.StringVar(&request.From, "from", "now", "where in the feed it begins: now, beginning, or a `cursor`")
	flags.StringVar(&request.Description, "description", "", "a `text` for people")
	flags.BoolVar(&disabled, "disabled", false, "do not send yet")
	return cmd
}

// showSecret prints the secret of a webhook.
func showSecret(p *printer, hook wire.Webhook) {
	p.line("%s", hook.Secret)
	p.line("")
	p.line("This secret is shown only once. The receiver needs it to verify deliveries.")
}

func (s *session) webhookList() *cobra.Command {
	return s.apiCommand(&cobra.Command{
		Use: "list", Short: "List the webhooks", Args: cobra.NoArgs,
	}, func(ctx context.Context, a *api, _ []string) (*answer, error) {
		return shown(func(p *printer, list wire.WebhookList) {
			var rows [][]string
			for _, h := range list.Webhooks {
				rows = append(rows, []string{h.ID, h.URL, join(h.Namespaces), join(h.Kinds), enabledText(h), h.CreatedBy, h.Description})
			}
			p.list("No webhooks.", []string{"webhook", "url", "namespaces", "kinds", "enabled", "by", "description"}, rows)
		})(call[wire.WebhookList](ctx, a, http.MethodGet, "/v1/webhooks", nil))
	})
}

func (s *session) webhookShow() *cobra.Command {
	return s.apiCommand(&cobra.Command{
		Use: "show WEBHOOK", Short: "Show a webhook and its status", Args: cobra.ExactArgs(1),
	}, func(ctx context.Context, a *api, args []string) (*answer, error) {
		return shown(showWebhook)(call[wire.Webhook](ctx, a, http.MethodGet, hookPath(args[0]), nil))
	})
}

func (s *session) webhookSet() *cobra.Command {
	var (
		address, description string
		namespaces, kinds    []string
		enable, disable      bool
	)
	cmd := &cobra.Command{
		Use: "set WEBHOOK", Short: "Change a webhook", Args: cobra.ExactArgs(1),
		Long: `Change a webhook. Other settings stay unchanged.

--enable also retries failed deliveries at once.`,
		Example: indent(`dibs webhook set wh_… --url https://example.com/new
dibs webhook set wh_… --enable`),
	}
	s.apiCommand(cmd, func(ctx context.Context, a *api, args []string) (*answer, error) {
		var change wire.WebhookChange
		given := cmd.Flags().Changed
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
		return shown(showWebhook)(call[wire.Webhook](ctx, a, http.MethodPatch, hookPath(args[0]), change))
	})
	flags := cmd.Flags()
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
	cmd := s.apiCommand(&cobra.Command{
		Use: "rotate WEBHOOK", Short: "Give a webhook a new secret, and print it, once", Args: cobra.ExactArgs(1),
		Long: `Give a webhook a new secret, and print it, once.

For a while (--grace) deliveries have two signatures, one of each secret, so that the
receiver has time to change.`,
	}, func(ctx context.Context, a *api, args []string) (*answer, error) {
		ms := grace.Milliseconds()
		return shown(showSecret)(call[wire.Webhook](ctx, a, http.MethodPost, hookPath(args[0], "rotate"), wire.WebhookRotation{GraceMs: &ms}))
	})
	cmd.Flags().DurationVar(&grace, "grace", 24*time.Hour, "how long the old secret also signs")
	return cmd
}

func (s *session) webhookTest() *cobra.Command {
	return s.apiCommand(&cobra.Command{
		Use: "test WEBHOOK", Short: "Send a test event, and show the result", Args: cobra.ExactArgs(1),
	}, func(ctx context.Context, a *api, args []string) (*answer, error) {
		return attempted(call[wire.WebhookAttempt](ctx, a, http.MethodPost, hookPath(args[0], "test"), nil))
	})
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

func (s *session) webhookRemove() *cobra.Command {
	return s.apiCommand(&cobra.Command{
		Use: "remove WEBHOOK", Short: "Remove a webhook with its dead letters", Args: cobra.ExactArgs(1),
	}, func(ctx context.Context, a *api, args []string) (*answer, error) {
		return shown(func(p *printer, _ wire.Removed) {
			p.line("%s removed", args[0])
		})(call[wire.Removed](ctx, a, http.MethodDelete, hookPath(args[0]), nil))
	})
}
