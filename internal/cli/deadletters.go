package cli

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs/internal/wire"
)

// deadCommand returns the commands about dead letters.
func (s *session) deadCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "dead",
		Short: "Manage dead letters: events that could not be delivered",
		Long: `Manage dead letters: events whose receiver failed for too long.

A resent event arrives out of order, after events that happened later.`,
	}, s.deadList(), s.deadShow(), s.deadResend(), s.deadRemove())
}

func (s *session) deadList() *cobra.Command {
	var (
		limit  int
		cursor string
	)
	cmd := s.apiCommand(&cobra.Command{
		Use: "list WEBHOOK", Short: "List the dead letters of a webhook, oldest first", Args: cobra.ExactArgs(1),
	}, func(ctx context.Context, a *api, args []string) (*answer, error) {
		query := url.Values{"limit": {strconv.Itoa(limit)}, "cursor": {cursor}}
		return shown(func(p *printer, list wire.DeadLetterPage) {
			var rows [][]string
			for _, l := range list.DeadLetters {
				rows = append(rows, []string{l.ID, shortDate(l.EventAt), l.Kind, l.Where, l.ReservationID, strconv.Itoa(l.Attempts), l.LastError})
			}
			p.list("No dead letters.", []string{"letter", "at", "event", "where", "id", "attempts", "error"}, rows)
			p.next("There may be more: use", list.NextCursor)
		})(call[wire.DeadLetterPage](ctx, a, http.MethodGet, hookPath(args[0], "deadletters")+"?"+query.Encode(), nil))
	})
	cmd.Flags().IntVar(&limit, "limit", 100, "how many, at most 1,000")
	cmd.Flags().StringVar(&cursor, "cursor", "", "continue after this `cursor`")
	return cmd
}

func (s *session) deadShow() *cobra.Command {
	return s.apiCommand(&cobra.Command{
		Use: "show WEBHOOK LETTER", Short: "Show a dead letter with its event", Args: cobra.ExactArgs(2),
	}, func(ctx context.Context, a *api, args []string) (*answer, error) {
		return shown(showLetter)(call[wire.DeadLetter](ctx, a, http.MethodGet, hookPath(args[0], "deadletters", args[1]), nil))
	})
}

func (s *session) deadResend() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "resend WEBHOOK [LETTER]", Short: "Send a dead letter again, or all of them", Args: cobra.RangeArgs(1, 2),
		Long: "Send a dead letter again, or all of them.\n\nA dead letter is removed when the receiver accepts it. --all stops at the first failure.",
	}
	s.apiCommand(cmd, func(ctx context.Context, a *api, args []string) (*answer, error) {
		switch {
		case all == (len(args) == 2):
			return nil, usage("name a letter, or use --all")
		case all:
			return resendAll(ctx, a, args[0])
		}
		path := hookPath(args[0], "deadletters", args[1], "resend")
		return attempted(call[wire.WebhookAttempt](ctx, a, http.MethodPost, path, nil))
	})
	cmd.Flags().BoolVar(&all, "all", false, "all of them, oldest first")
	return cmd
}

// resendAll repeats the call until nothing is left, an event fails, or a call achieves nothing.
func resendAll(ctx context.Context, a *api, hook string) (*answer, error) {
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

func (s *session) deadRemove() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "remove WEBHOOK [LETTER]", Short: "Remove a dead letter, or all of them", Args: cobra.RangeArgs(1, 2),
	}
	s.apiCommand(cmd, func(ctx context.Context, a *api, args []string) (*answer, error) {
		if all == (len(args) == 2) {
			return nil, usage("name a letter, or use --all")
		}
		path := append([]string{"deadletters"}, args[1:]...)
		return shown(func(p *printer, removed wire.Removed) {
			p.line("%s removed", count(removed.Removed, "dead letter", "dead letters"))
		})(call[wire.Removed](ctx, a, http.MethodDelete, hookPath(args[0], path...), nil))
	})
	cmd.Flags().BoolVar(&all, "all", false, "all of them")
	return cmd
}
