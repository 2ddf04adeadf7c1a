package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

func (s *session) forget() *cobra.Command {
	var (
		name, scope string
		entity      entityFlag
		dryRun, yes bool
		scrub       bool
	)
	cmd := s.command(verb{
		name: "forget", group: groupOperate,
		short: "Erase a person, or a name, from rows and history",
		long: `--entity erases a person: every name that is its own or was last, and the entity. A
name that somebody else has by now stays, and its history loses the person. --name
erases one name that nobody has; with --entity, one that is that entity's.

A tombstone without the value keeps the name back as long as its quarantine says, and
its epochs never go back. Nothing can undo it. It reads the whole feed, can be
interrupted, and goes on when it is run again. What a database keeps on disk after
it, and in backups, is in docs/privacy.md.

It asks before it starts; --yes goes on without asking. A value of - is read from
stdin: personal data does not belong in a shell's history.`,
		example: `
dibs forget --entity user/42 --scope acme --dry-run
dibs forget --entity user/42 --scope acme --yes
printf %s "$EMAIL" | dibs forget --name email:- --yes`,
		do: func(ctx context.Context, registry *dibs.Registry, _ []string) (*answer, error) {
			request, err := s.forgetRequest(name, yes || dryRun)
			if err != nil {
				return nil, err
			}
			request.Scope, request.Entity, request.DryRun, request.Scrub = scope, entity.Entity, dryRun, scrub
			if !dryRun && !yes {
				if err := s.askToForget(ctx, registry, request); err != nil {
					return nil, err
				}
			}
			report, err := registry.Forget(ctx, request)
			if err != nil {
				return nil, err
			}
			return forgotten(report, dryRun), nil
		},
	})
	cmd.Flags().Var(&entity, "entity", "the person, or whose name it is")
	scopeVar(cmd, &scope)
	cmd.Flags().StringVar(&name, "name", "", "one `namespace:value` to forget")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "say what it would erase, and do nothing")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&scrub, "scrub", false, "write the database anew, so that nothing is left in its file; SQLite only")
	cmd.MarkFlagsOneRequired("entity", "name")
	return cmd
}

// forgetRequest reads which name is meant, if one is. If it asks, stdin is for the answer.
func (s *session) forgetRequest(name string, silent bool) (dibs.ForgetRequest, error) {
	if name == "" {
		return dibs.ForgetRequest{}, nil
	}
	namespace, value, ok := strings.Cut(name, ":")
	switch {
	case !ok || namespace == "" || value == "":
		return dibs.ForgetRequest{}, usage("--name is namespace:value, such as email:alice@example.com")
	case value == "-" && !silent:
		return dibs.ForgetRequest{}, usage("a value of - is read from stdin: say --yes or --dry-run, there is no asking then")
	case value == "-":
		values, err := s.readValues(false)
		if err != nil {
			return dibs.ForgetRequest{}, err
		}
		value = values[0]
	}
	return dibs.ForgetRequest{Namespace: namespace, Value: value}, nil
}

// askToForget shows what would be erased and waits for a yes.
func (s *session) askToForget(ctx context.Context, registry *dibs.Registry, request dibs.ForgetRequest) error {
	request.DryRun = true
	plan, err := registry.Forget(ctx, request)
	if err != nil || plan.Replayed {
		return err
	}
	lines := []string{"Nothing can undo this:"}
	for _, n := range plan.Erased {
		lines = append(lines, "  erase "+n.Key())
	}
	for _, n := range plan.Redacted {
		lines = append(lines, "  redact the history of "+n.Key())
	}
	if request.Namespace == "" {
		lines = append(lines, "  erase the entity "+request.Entity.String())
	}
	return s.confirmed(strings.Join(lines, "\n"))
}

// forgetting is the report, and whether it was a plan.
type forgetting struct {
	wire.Forgetting
	DryRun bool `json:"dryRun"`
}

func forgotten(r dibs.Forgetting, dryRun bool) *answer {
	var rows [][]string
	for _, n := range r.Erased {
		rows = append(rows, []string{"erased", n.Key(), string(n.State), date(n.Until)})
	}
	for _, n := range r.Redacted {
		rows = append(rows, []string{"redacted", n.Key(), string(n.State), date(n.Until)})
	}
	return &answer{forgetting{wire.ForgettingOf(r), dryRun}, func(p *page) {
		if len(rows) > 0 {
			p.table([]string{"what", "name", "state", "until"}, rows)
			p.line("")
		}
		switch {
		case r.Replayed:
			p.line("There is nothing to forget.")
		case dryRun:
			p.line("Nothing was erased: this is what would be.")
		default:
			p.line("%s", fmt.Sprintf("%s erased, the history of %s redacted.", count(len(r.Erased), "name", "names"), count(len(r.Redacted), "other", "others")))
		}
	}}
}
