package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs"
)

// verb is a command that works on an open registry.
type verb struct {
	name    string
	args    []string // what it takes: "VALUE" once, "VALUE..." once or more, "[VALUE]" perhaps
	group   string
	short   string
	long    string // what short does not say; may be empty
	example string

	// before looks at the arguments before anything is opened. It may be nil.
	before func(args []string) error
	// do runs with values read from stdin where they were "-". It may return an
	// answer and an error together.
	do func(ctx context.Context, registry *dibs.Registry, args []string) (*answer, error)
}

// command makes a command of a verb. Flags are added to what it returns.
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

// onRegistry opens the registry, does the work, and prints the answer.
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
	// What was done is done: a failure to close is news, but not the outcome.
	if closing := registry.Close(); closing != nil && err == nil {
		fmt.Fprintf(s.Stderr, "dibs: closing: %v\n", closing)
	}
	s.print(answer, err)
	return err
}

// checkArgs says which argument is missing or too many.
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
		return fmt.Errorf("%q is too much: %s; see %s --help", args[len(v.args)], cmd.UseLine(), cmd.CommandPath())
	}
	return nil
}

// completeArgs completes a namespace from the configuration; nothing else is known
// without asking the engine.
func (s *session) completeArgs(v verb) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) == 0 && len(v.args) > 0 && strings.HasSuffix(v.args[0], "NAMESPACE") {
			return s.completeNamespace(nil, nil, "")
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

func (s *session) completeNamespace(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	target, err := s.target()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return namespacesOf(target), cobra.ShellCompDirectiveNoFileComp
}

// indent sets the lines of an example off, as cobra's help has them.
func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}
