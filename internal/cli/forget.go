package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

func (s *session) forget() *cobra.Command {
	var (
		name, scope string
		entity      dibs.Entity
		dryRun, yes bool
		scrub       bool
	)
	cmd := s.onRegistry("forget", func(ctx context.Context, registry *dibs.Registry, _ []string) (*answer, error) {
		request, err := s.forgetRequest(name, yes || dryRun)
		if err != nil {
			return nil, err
		}
		request.Scope, request.Entity, request.DryRun, request.Scrub = scope, entity, dryRun, scrub
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
	})
	entityVar(cmd, &entity, "entity", "the person, or the owner of the name")
	scopeVar(cmd, &scope)
	cmd.Flags().StringVar(&name, "name", "", "one `namespace:value` to forget")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be erased, without doing it")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	cmd.Flags().BoolVar(&scrub, "scrub", false, "rewrite the database file, so that it has no traces; SQLite only")
	cmd.MarkFlagsOneRequired("entity", "name")
	return cmd
}

// forgetRequest parses --name. The value can be read from stdin only if silent: otherwise the
// confirmation reads stdin.
func (s *session) forgetRequest(name string, silent bool) (dibs.ForgetRequest, error) {
	if name == "" {
		return dibs.ForgetRequest{}, nil
	}
	namespace, value, ok := strings.Cut(name, ":")
	switch {
	case !ok || namespace == "" || value == "":
		return dibs.ForgetRequest{}, usage("write --name as namespace:value, such as email:alice@example.com")
	case value == "-" && !silent:
		return dibs.ForgetRequest{}, usage("a value of - is read from stdin, which the confirmation needs: add --yes or --dry-run")
	case value == "-":
		values, err := s.readValues(false)
		if err != nil {
			return dibs.ForgetRequest{}, err
		}
		value = values[0]
	}
	return dibs.ForgetRequest{Namespace: namespace, Value: value}, nil
}

// askToForget shows what would be erased and asks for confirmation.
func (s *session) askToForget(ctx context.Context, registry *dibs.Registry, request dibs.ForgetRequest) error {
	request.DryRun = true
	plan, err := registry.Forget(ctx, request)
	if err != nil || plan.Replayed {
		return err
	}
	lines := []string{"This cannot be undone:"}
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

func forgotten(r dibs.Forgetting, dryRun bool) *answer {
	var rows [][]string
	for _, n := range r.Erased {
		rows = append(rows, []string{"erased", n.Key(), string(n.State), date(n.Until)})
	}
	for _, n := range r.Redacted {
		rows = append(rows, []string{"redacted", n.Key(), string(n.State), date(n.Until)})
	}
	document := struct {
		wire.Forgetting
		DryRun bool `json:"dryRun"`
	}{wire.ForgettingOf(r), dryRun}
	return &answer{document, func(p *printer) {
		if len(rows) > 0 {
			p.table([]string{"what", "name", "state", "until"}, rows)
			p.line("")
		}
		switch {
		case r.Replayed:
			p.line("Nothing to forget.")
		case dryRun:
			p.line("Dry run: nothing was erased.")
		default:
			p.line("%s erased, the history of %s redacted.", count(len(r.Erased), "name", "names"), count(len(r.Redacted), "other", "others"))
		}
	}}
}
