package cli

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

func (s *session) recanonicalize() *cobra.Command {
	var dryRun, yes bool
	cmd := s.command(verb{
		name: "recanonicalize", args: []string{"NAMESPACE"}, group: groupOperate,
		short: "Bring the names of a namespace under the rules its policy has now",
		long: `After a change of the profile, or of how look-alikes are refused. While it runs
nobody is given a new name in the namespace. It can be interrupted, and goes on when
it is run again. Look at a --dry-run first: collisions and names that are not valid
under the new rules stop it, before anything is changed.

It asks before it starts; --yes goes on without asking.`,
		example: `
dibs recanonicalize slug --config dibs.toml --dry-run
dibs recanonicalize slug --config dibs.toml --yes`,
		do: func(ctx context.Context, registry *dibs.Registry, args []string) (*answer, error) {
			request := dibs.RecanonicalizeRequest{Namespace: args[0], DryRun: dryRun, Progress: s.progress()}
			if !dryRun && !yes {
				if err := s.askFirst(ctx, registry, request); err != nil {
					return nil, err
				}
			}
			report, err := registry.Recanonicalize(ctx, request)
			return recanonicalized(report, dryRun), err
		},
	})
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "say what it would do, and do nothing")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// askFirst shows what would be done and waits for a yes.
func (s *session) askFirst(ctx context.Context, registry *dibs.Registry, request dibs.RecanonicalizeRequest) error {
	request.DryRun = true
	plan, err := registry.Recanonicalize(ctx, request)
	if err != nil {
		return err
	}
	if settled(plan) {
		return nil
	}
	return s.confirmed(summary(plan))
}

// confirmed shows what would be done and waits for a yes.
func (s *session) confirmed(plan string) error {
	fmt.Fprintf(s.Stderr, "%s\nGo on? [y/N] ", clean(plan))
	line, _ := bufio.NewReader(s.Stdin).ReadString('\n')
	fmt.Fprintln(s.Stderr)
	if reply := strings.ToLower(strings.TrimSpace(line)); reply != "y" && reply != "yes" {
		return usage("nothing was changed; answer y, or say --yes")
	}
	return nil
}

// progress reports on stderr, at most once a second.
func (s *session) progress() func(done, total int) {
	last := s.Now()
	return func(done, total int) {
		if now := s.Now(); now.Sub(last) >= time.Second {
			last = now
			fmt.Fprintf(s.Stderr, "%d of %d names\n", done, total)
		}
	}
}

// recanonicalization is the report, and whether it was a plan.
type recanonicalization struct {
	wire.Recanonicalization
	DryRun bool `json:"dryRun"`
}

func recanonicalized(r dibs.Recanonicalization, dryRun bool) *answer {
	document := recanonicalization{wire.RecanonicalizationOf(r), dryRun}
	var rows [][]string
	for _, f := range r.Findings {
		with := ""
		if f.With != nil {
			with = f.With.Key() + " " + owner(f.With.Entity)
		}
		rows = append(rows, []string{string(f.Kind), f.Name.Key(), owner(f.Name.Entity), f.To, with, f.Why})
	}
	return &answer{document, func(p *page) {
		if len(rows) > 0 {
			p.table([]string{"finding", "name", "entity", "becomes", "same as", "why"}, rows)
			p.line("")
		}
		if settled(r) || dryRun {
			p.line("%s", summary(r))
		} else {
			p.line("%s; %d done", summary(r), r.Done)
		}
	}}
}

// settled reports that there is nothing to do.
func settled(r dibs.Recanonicalization) bool { return r.From == r.To && len(r.Counts) == 0 }

// summary says in a line what was found.
func summary(r dibs.Recanonicalization) string {
	if settled(r) {
		return fmt.Sprintf("%s: every name is under %s already", r.Namespace, r.To)
	}
	from := r.From
	if from == "" {
		from = "rules that were not noted"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: from %s to %s, %s looked at", r.Namespace, from, r.To, count(r.Looked, "name", "names"))
	for _, kind := range slices.Sorted(maps.Keys(r.Counts)) {
		fmt.Fprintf(&b, ", %s %d", kind, r.Counts[kind])
	}
	return b.String()
}
