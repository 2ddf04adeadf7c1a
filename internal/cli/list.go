package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

// states are the values of --state.
var states = []string{"free", "held", "suspect", "active", "alias", "quarantined"}

func (s *session) list() *cobra.Command {
	var (
		query dibs.NamesQuery
		state string
		all   bool
	)
	cmd := s.command(verb{
		name: "list", group: groupQuery,
		short: "List names, by namespace and canonical form",
		long:  "Free names are listed only with --state free.",
		example: `
dibs list --namespace slug
dibs list --namespace slug --state alias --prefix alice
dibs list --state suspect --all`,
		before: func([]string) error {
			if state != "" && !slices.Contains(states, state) {
				return usage("unknown state %q: use one of %s", state, join(states))
			}
			query.State = dibs.State(state)
			return checkPaging(query, all)
		},
		do: func(ctx context.Context, registry *dibs.Registry, _ []string) (*answer, error) {
			return converted(namesDocument, (*printer).listing)(listNames(ctx, registry, query, all))
		},
	})
	flags := cmd.Flags()
	flags.StringVar(&query.Namespace, "namespace", "", "only this `namespace`")
	flags.StringVar(&state, "state", "", "only names in this `state`: "+join(states))
	flags.StringVar(&query.Prefix, "prefix", "", "only names whose canonical form begins with this `text`")
	pagingFlags(flags, &query, &all)
	must(cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(states, cobra.ShellCompDirectiveNoFileComp)))
	must(cmd.RegisterFlagCompletionFunc("namespace", s.completeNamespace))
	return cmd
}

// listNames returns one page, or with all every page as one.
func listNames(ctx context.Context, registry *dibs.Registry, query dibs.NamesQuery, all bool) (dibs.NamesPage, error) {
	if !all {
		return registry.List(ctx, query)
	}
	var whole dibs.NamesPage
	query.Limit = 1000
	for {
		page, err := registry.List(ctx, query)
		if err != nil {
			return dibs.NamesPage{}, err
		}
		whole.Names = append(whole.Names, page.Names...)
		if page.Next == "" {
			return whole, nil
		}
		query.Cursor = page.Next
	}
}

func (p *printer) listing(names dibs.NamesPage) {
	if len(names.Names) == 0 {
		p.line("No names.")
	}
	p.names(names.Names)
	p.next(morePages, names.Next)
}

const morePages = "There are more: use --all, or"

// pagingFlags adds the flags of commands that list names.
func pagingFlags(flags *pflag.FlagSet, query *dibs.NamesQuery, all *bool) {
	flags.IntVar(&query.Limit, "limit", 0, "how `many`, at most 1,000 (default 100)")
	flags.StringVar(&query.Cursor, "cursor", "", "continue after this `cursor` of an earlier page")
	flags.BoolVar(all, "all", false, "all names")
}

func checkPaging(query dibs.NamesQuery, all bool) error {
	if all && query.Limit != 0 {
		return usage("--all and --limit exclude each other: use one of them")
	}
	return nil
}

func namesDocument(names dibs.NamesPage) wire.NamesPage {
	return wire.NamesPage{Names: wire.NamesOf(names.Names), NextCursor: names.Next}
}
