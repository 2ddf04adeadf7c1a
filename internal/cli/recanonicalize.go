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
		short: "Apply the present rules of a policy to all names of a namespace",
		long: `Use it after a change of the profile, or of how look-alikes are refused. While it runs,
no new name of the namespace can be taken. If it is interrupted, run it again to
continue. Use --dry-run first: collisions and names that are invalid under the new
rules stop it before anything is changed.

It asks for confirmation; --yes skips that.`,
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
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be done, without doing it")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	return cmd
}

// askFirst shows what would be done and asks for confirmation.
func (s *session) askFirst(ctx context.Context, registry *dibs.Registry, request dibs.RecanonicalizeRequest) error {
	request.DryRun = true
	plan, err := registry.Recanonicalize(ctx, request)
	if err != nil {
		return err
	}
	if upToDate(plan) {
		return nil
	}
	return s.confirmed(summary(plan))
}

// confirmed shows a plan and asks for confirmation.
func (s *session) confirmed(plan string) error {
	fmt.Fprintf(s.Stderr, "%s\nContinue? [y/N] ", clean(plan))
	line, _ := bufio.NewReader(s.Stdin).ReadString('\n')
	fmt.Fprintln(s.Stderr)
	if reply := strings.ToLower(strings.TrimSpace(line)); reply != "y" && reply != "yes" {
		return usage("nothing was changed: answer y, or use --yes")
	}
	return nil
}

// progress returns a function that reports to stderr, at most once a second.
func (s *session) progress() func(done, total int) {
	last := s.Now()
	return func(done, total int) {
		if now := s.Now(); now.Sub(last) >= time.Second {
			last = now
			fmt.Fprintf(s.Stderr, "%d of %d names\n", done, total)
		}
	}
}

// recanonicalization is the JSON of the report.
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
	return &answer{document, func(p *printer) {
		if len(rows) > 0 {
			p.table([]string{"finding", "name", "entity", "becomes", "same as", "why"}, rows)
			p.line("")
		}
		if upToDate(r) || dryRun {
			p.line("%s", summary(r))
		} else {
			p.line("%s; %d done", summary(r), r.Done)
		}
	}}
}

// upToDate reports whether there is nothing to do.
func upToDate(r dibs.Recanonicalization) bool { return r.From == r.To && len(r.Counts) == 0 }

// summary describes a report in one line.
func summary(r dibs.Recanonicalization) string {
	if upToDate(r) {
		return fmt.Sprintf("%s: all names already follow %s", r.Namespace, r.To)
	}
	from := r.From
	if from == "" {
		from = "unrecorded rules"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: from %s to %s, %s checked", r.Namespace, from, r.To, count(r.Looked, "name", "names"))
	for _, kind := range slices.Sorted(maps.Keys(r.Counts)) {
		fmt.Fprintf(&b, ", %s %d", kind, r.Counts[kind])
	}
	return b.String()
}
