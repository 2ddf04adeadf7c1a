package cli

import (
	"context"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

// states are the values of --state.
var states = []string{"free", "held", "suspect", "active", "alias", "quarantined"}

func (s *session) list() *cobra.Command {
	var query dibs.NamesQuery
	cmd := s.listing("list", &query, (*printer).listing)
	cmd.Flags().StringVar((*string)(&query.State), "state", "", "only names in this `state`: "+join(states))
	cmd.Flags().StringVar(&query.Prefix, "prefix", "", "only names whose canonical form begins with this `text`")
	must(cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(states, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

func (s *session) suspects() *cobra.Command {
	return s.listing("suspects", &dibs.NamesQuery{State: dibs.Suspect}, (*printer).suspects)
}

// listing returns a command that lists names, page by page or all of them.
func (s *session) listing(path string, query *dibs.NamesQuery, text func(*printer, dibs.NamesPage)) *cobra.Command {
	var all bool
	cmd := s.command(path, func(ctx context.Context, _ []string) (*answer, error) {
		if state := string(query.State); state != "" && !slices.Contains(states, state) {
			return nil, usage("unknown state %q: use one of %s", state, join(states))
		}
		if all && query.Limit != 0 {
			return nil, usage("--all and --limit exclude each other: use one of them")
		}
		return s.withRegistry(ctx, func(registry *dibs.Registry) (*answer, error) {
			return converted(func(names dibs.NamesPage) wire.NamesPage {
				return wire.NamesPage{Names: wire.NamesOf(names.Names), NextCursor: names.Next}
			}, text)(listNames(ctx, registry, *query, all))
		})
	})
	s.namespaceVar(cmd, &query.Namespace, "only this `namespace`")
	cmd.Flags().IntVar(&query.Limit, "limit", 0, "how `many`, at most 1,000 (default 100)")
	cmd.Flags().StringVar(&query.Cursor, "cursor", "", "continue after this `cursor` of an earlier page")
	cmd.Flags().BoolVar(&all, "all", false, "all names")
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

func (p *printer) suspects(names dibs.NamesPage) {
	p.list("No suspects.", []string{"name", "since", "entity", "correlation", "asked", "next", "id", "doubt"},
		wire.ListOf(names.Names, func(n dibs.Name) []string {
			return []string{
				n.Key(), date(n.ExpiresAt), owner(n.Entity), n.CorrelationID, strconv.Itoa(n.Asked), p.moment(n.AskAt), n.ID.String(), n.Doubt,
			}
		}))
	p.next(morePages, names.Next)
}
