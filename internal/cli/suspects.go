package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs"
)

func (s *session) suspects() *cobra.Command {
	query := dibs.NamesQuery{State: dibs.Suspect}
	var all bool
	cmd := s.command(verb{
		name: "suspects", group: groupOperate,
		short: "List the holds that wait for a witness, and why",
		long: `A suspect is an expired hold for which it is unknown whether its entity was saved.
The registry asks its witness again, with growing pauses. To decide it yourself, use
"dibs settle".`,
		example: `
dibs suspects
dibs suspects --namespace slug --all`,
		before: func([]string) error { return checkPaging(query, all) },
		do: func(ctx context.Context, registry *dibs.Registry, _ []string) (*answer, error) {
			return converted(namesDocument, (*printer).suspects)(listNames(ctx, registry, query, all))
		},
	})
	flags := cmd.Flags()
	flags.StringVar(&query.Namespace, "namespace", "", "only this `namespace`")
	pagingFlags(flags, &query, &all)
	must(cmd.RegisterFlagCompletionFunc("namespace", s.completeNamespace))
	return cmd
}

func (p *printer) suspects(names dibs.NamesPage) {
	rows := make([][]string, len(names.Names))
	for i, n := range names.Names {
		rows[i] = []string{
			n.Key(), date(n.ExpiresAt), owner(n.Entity), n.CorrelationID, strconv.Itoa(n.Asked), p.moment(n.AskAt), n.ID.String(), n.Doubt,
		}
	}
	p.list("No suspects.", []string{"name", "since", "entity", "correlation", "asked", "next", "id", "doubt"}, rows)
	p.next(morePages, names.Next)
}
