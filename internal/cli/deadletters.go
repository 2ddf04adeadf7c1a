package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs/internal/wire"
)

// deadCommand returns the commands about dead letters.
func (s *session) deadCommand() *cobra.Command {
	return s.group("webhook dead",
		s.deadList(),
		s.onAPI("webhook dead show", func(ctx context.Context, a *api, args []string) (*answer, error) {
			return shown(showLetter)(call[wire.DeadLetter](ctx, a, http.MethodGet, hookPath(args[0], "deadletters", args[1]), nil))
		}),
		s.oneOrAll("webhook dead resend", "all of them, oldest first", resendLetters),
		s.oneOrAll("webhook dead remove", "all of them", removeLetters),
	)
}

func (s *session) deadList() *cobra.Command {
	var (
		limit  int
		cursor string
	)
	cmd := s.onAPI("webhook dead list", func(ctx context.Context, a *api, args []string) (*answer, error) {
		query := url.Values{"limit": {strconv.Itoa(limit)}, "cursor": {cursor}}
		return shown(showLetters)(call[wire.DeadLetterPage](ctx, a, http.MethodGet, hookPath(args[0], "deadletters")+"?"+query.Encode(), nil))
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

func removeLetters(ctx context.Context, a *api, hook string, letter ...string) (*answer, error) {
	return shown(func(p *printer, removed wire.Removed) {
		p.line("%s removed", count(removed.Removed, "dead letter", "dead letters"))
	})(call[wire.Removed](ctx, a, http.MethodDelete, hookPath(hook, append([]string{"deadletters"}, letter...)...), nil))
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
