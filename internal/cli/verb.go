package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs"
)

// verb is a command that needs an open registry.
type verb struct {
	name    string
	args    []string // "VALUE" is required, "VALUE..." one or more, "[VALUE]" optional
	group   string
	short   string
	long    string // follows short in the help; may be empty
	example string

	// before checks the arguments before the registry is opened. It may be nil.
	before func(args []string) error
	// do runs with values of "-" replaced by stdin. It may return both an answer and an error.
	do func(ctx context.Context, registry *dibs.Registry, args []string) (*answer, error)
}

// command returns the cobra command of a verb. The caller adds the flags.
func (s *session) command(v verb) *cobra.Command {
	return &cobra.Command{
		Use:               strings.Join(append([]string{v.name}, v.args...), " "),
		GroupID:           v.group,
		Short:             v.short,
		Long:              strings.TrimSpace(v.short + ".\n\n" + v.long),
		Example:           indent(v.example),
		Args:              v.checkArgs,
		ValidArgsFunction: s.completeArgs(v),
		RunE: func(cmd *cobra.Command, args []string) error {
			args, err := s.readArgs(v, args)
			if err != nil {
				return err
			}
			if v.before != nil {
				if err := v.before(args); err != nil {
					return err
				}
			}
			return s.onRegistry(cmd.Context(), func(registry *dibs.Registry) (*answer, error) {
				return v.do(cmd.Context(), registry, args)
			})
		},
	}
}

// group returns a command that only has subcommands.
func group(cmd *cobra.Command, children ...*cobra.Command) *cobra.Command {
	cmd.Args = cobra.NoArgs // makes an unknown subcommand an error
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(children...)
	return cmd
}

// onRegistry opens the registry, runs the work, and prints the answer.
func (s *session) onRegistry(ctx context.Context, work func(*dibs.Registry) (*answer, error)) error {
	target, err := s.target()
	if err != nil {
		return err
	}
	registry, err := s.Open(ctx, target)
	if err != nil {
		return err
	}
	answer, err := work(registry)
	return s.closeAndPrint(registry.Close, answer, err)
}

// closeAndPrint prints an answer after the work is done. An error of closing does not change the
// outcome, and must not hide a secret that is shown only once.
func (s *session) closeAndPrint(closing func() error, answer *answer, err error) error {
	if failed := closing(); failed != nil && err == nil {
		fmt.Fprintf(s.Stderr, "dibs: closing: %v\n", failed)
	}
	s.print(answer, err)
	return err
}

// checkArgs reports a missing or an unexpected argument.
func (v verb) checkArgs(cmd *cobra.Command, args []string) error {
	least, many := 0, false
	for _, name := range v.args {
		if !strings.HasPrefix(name, "[") {
			least++
		}
		many = many || strings.HasSuffix(name, "...")
	}
	switch {
	case len(args) < least:
		missing := strings.ReplaceAll(strings.TrimSuffix(v.args[len(args)], "..."), "|", " or ")
		return fmt.Errorf("%s is missing: %s; see %s --help", missing, cmd.UseLine(), cmd.CommandPath())
	case len(args) > len(v.args) && !many:
		return fmt.Errorf("unexpected argument %q: %s; see %s --help", args[len(v.args)], cmd.UseLine(), cmd.CommandPath())
	}
	return nil
}

// completeArgs completes a namespace from the configuration; anything else would need the engine.
func (s *session) completeArgs(v verb) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) == 0 && len(v.args) > 0 && strings.HasSuffix(v.args[0], "NAMESPACE") {
			return s.completeNamespace(nil, nil, "")
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeNamespace completes a namespace of the target's configuration.
func (s *session) completeNamespace(*cobra.Command, []string, string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	if target, err := s.target(); err == nil {
		if cfg, err := loadConfig(target.Config); err == nil {
			names = slices.Sorted(maps.Keys(cfg.Policies))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// indent indents the lines of an example for the help.
func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}
