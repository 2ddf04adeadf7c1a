package cli

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

func (s *session) stats() *cobra.Command {
	var query dibs.ConflictsQuery
	cmd := s.command(verb{
		name: "stats", group: groupQuery,
		short: "Count names by namespace and state, and conflicts by hour and reason",
		long: `--since limits the conflicts. On etcd counting reads all names, and the counts of a
server may be some minutes old.`,
		example: `
dibs stats --since 24h
dibs stats --namespace slug --since 2026-03-01`,
		do: func(ctx context.Context, registry *dibs.Registry, _ []string) (*answer, error) {
			names, err := registry.Stats(ctx)
			if err != nil {
				return nil, err
			}
			refused, err := registry.Conflicts(ctx, query)
			if err != nil {
				return nil, err
			}
			return counted(only(names, query.Namespace), refused), nil
		},
	})
	cmd.Flags().StringVar(&query.Namespace, "namespace", "", "only this `namespace`")
	cmd.Flags().Var(parsedFlag{"time", func(text string) (err error) {
		query.From, err = parseSince(text, s.Now())
		return err
	}}, "since", "only conflicts since then: 24h, 7d or 2026-03-01")
	must(cmd.RegisterFlagCompletionFunc("namespace", s.completeNamespace))
	return cmd
}

// only keeps the counts of one namespace; all if it is empty. Holds that end soon are counted
// for all namespaces together.
func only(stats dibs.Stats, namespace string) dibs.Stats {
	stats.Names = slices.DeleteFunc(slices.Clone(stats.Names), func(c dibs.NameCount) bool {
		return namespace != "" && c.Namespace != namespace
	})
	return stats
}

// counted returns the answer of stats.
func counted(names dibs.Stats, refused []dibs.ConflictBucket) *answer {
	document := struct {
		wire.Stats
		Buckets []wire.ConflictBucket `json:"buckets"`
	}{wire.StatsOf(names, time.Time{}), []wire.ConflictBucket{}}
	for _, b := range refused {
		document.Buckets = append(document.Buckets, wire.ConflictBucketOf(b))
	}
	return &answer{document, func(p *printer) {
		p.nameCounts(names)
		p.line("")
		p.refused(refused)
	}}
}

func (p *printer) nameCounts(stats dibs.Stats) {
	if len(stats.Names) == 0 {
		p.line("No names.")
	}
	rows := make([][]string, len(stats.Names))
	for i, c := range stats.Names {
		rows[i] = []string{c.Namespace, string(c.State), strconv.Itoa(c.Count)}
	}
	p.table([]string{"namespace", "state", "names"}, rows)
	if stats.EndingSoon > 0 {
		p.line("")
		p.line("%s within a minute, in all namespaces", count(stats.EndingSoon, "hold ends", "holds end"))
	}
}

func (p *printer) refused(buckets []dibs.ConflictBucket) {
	total := 0
	rows := make([][]string, len(buckets))
	for i, b := range buckets {
		rows[i] = []string{date(b.Start), b.Namespace, b.Reason, number(b.Count)}
		total += int(b.Count)
	}
	if total > 0 {
		p.table([]string{"hour", "namespace", "reason", "refused"}, rows)
		p.line("")
	}
	p.line("%s", count(total, "conflict", "conflicts"))
}
