package cli

import (
	"bufio"
	"context"
	_ "embed" // for the help
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/spelling"
)

// helpText is the help of all commands, as a text: "# " begins a group of the root's help, "## " a
// command with its path and arguments.
//
//go:embed help.txt
var helpText string

// help is the help of a command.
type help struct {
	name, group          string
	args                 []string // "VALUE" is required, "VALUE..." one or more, "[VALUE]" optional
	short, long, example string
}

// manual has the help of all commands by their paths, such as "keys create".
type manual struct {
	groups   []*cobra.Group
	commands map[string]help
}

var readManual = sync.OnceValue(func() manual {
	m := manual{commands: make(map[string]help)}
	for section := range strings.SplitSeq(helpText, "\n\n# ") {
		title, commands, _ := strings.Cut(section, "\n\n## ")
		m.groups = append(m.groups, &cobra.Group{ID: title, Title: title})
		for command := range strings.SplitSeq(commands, "\n\n## ") {
			heading, text, _ := strings.Cut(command, "\n\n")
			path, h := parseHelp(heading, text)
			if path == h.name { // not a subcommand
				h.group = title
			}
			m.commands[path] = h
		}
	}
	return m
})

// parseHelp parses the help of a command. If its first line ends with a dot, it is both the short
// help and the beginning of the long one.
func parseHelp(heading, text string) (path string, h help) {
	words := strings.Fields(heading)
	names := slices.IndexFunc(words, func(w string) bool { return !unicode.IsLower(rune(w[0])) })
	if names < 0 {
		names = len(words)
	}
	h.name, h.args = words[names-1], words[names:]
	text, h.example, _ = strings.Cut(strings.TrimRight(text, "\n"), "\n\nExamples:\n")
	first, rest, _ := strings.Cut(text, "\n\n")
	h.short, h.long = first, rest
	if short, whole := strings.CutSuffix(first, "."); whole {
		h.short, h.long = short, text
	}
	return strings.Join(words[:names], " "), h
}

// command returns the command with the help at a path. It runs with values of "-" replaced by
// stdin, and may return both an answer and an error. The caller adds the flags.
func (s *session) command(path string, run func(ctx context.Context, args []string) (*answer, error)) *cobra.Command {
	h := readManual().commands[path]
	return &cobra.Command{
		Use:               strings.Join(append([]string{h.name}, h.args...), " "),
		GroupID:           h.group,
		Short:             h.short,
		Long:              h.long,
		Example:           h.example,
		Args:              h.checkArgs,
		ValidArgsFunction: s.completeArgs(h.args),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.started, s.running = true, cmd
			args, err := s.readArgs(h.args, args)
			if err != nil {
				return err
			}
			answer, err := run(cmd.Context(), args)
			s.print(answer, err)
			return err
		},
	}
}

// group returns a command that only has subcommands.
func (s *session) group(path string, children ...*cobra.Command) *cobra.Command {
	cmd := s.command(path, nil)
	cmd.Args = unknownCommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(children...)
	return cmd
}

// unknownCommand refuses the arguments of a command that only has subcommands.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, child := range cmd.Commands() {
		if child.IsAvailableCommand() {
			names = append(names, child.Name())
		}
	}
	return fmt.Errorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), spelling.Hint(args[0], names))
}

// explainFlag says which flag an unknown one was probably meant to be.
func explainFlag(cmd *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || unknown.GetSpecifiedShortnames() != "" {
		return err
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, "--"+f.Name)
		}
	})
	return fmt.Errorf("%w%s", err, spelling.Hint("--"+unknown.GetSpecifiedName(), names))
}

// onRegistry returns a command that needs an open registry.
func (s *session) onRegistry(
	path string, do func(ctx context.Context, registry *dibs.Registry, args []string) (*answer, error),
) *cobra.Command {
	return s.command(path, func(ctx context.Context, args []string) (*answer, error) {
		return s.withRegistry(ctx, func(registry *dibs.Registry) (*answer, error) { return do(ctx, registry, args) })
	})
}

// withRegistry opens the registry for some work.
func (s *session) withRegistry(ctx context.Context, work func(*dibs.Registry) (*answer, error)) (_ *answer, err error) {
	target, err := s.target()
	if err != nil {
		return nil, err
	}
	registry, err := s.Open(ctx, target)
	if err != nil {
		return nil, err
	}
	defer s.close(registry, &err)
	return work(registry)
}

// close closes what a command opened. An error of closing does not change the outcome, and must
// not hide a secret that is shown only once.
func (s *session) close(opened io.Closer, err *error) {
	if failed := opened.Close(); failed != nil && *err == nil {
		fmt.Fprintf(s.Stderr, "dibs: closing: %v\n", failed)
	}
}

// checkArgs reports a missing or an unexpected argument.
func (h help) checkArgs(cmd *cobra.Command, args []string) error {
	least, many := 0, false
	for _, name := range h.args {
		if !strings.HasPrefix(name, "[") {
			least++
		}
		many = many || strings.HasSuffix(name, "...")
	}
	switch {
	case len(args) < least:
		missing := strings.ReplaceAll(strings.TrimSuffix(h.args[len(args)], "..."), "|", " or ")
		return fmt.Errorf("%s is missing: %s; see %s --help", missing, cmd.UseLine(), cmd.CommandPath())
	case len(args) > len(h.args) && !many:
		return fmt.Errorf("unexpected argument %q: %s; see %s --help", args[len(h.args)], cmd.UseLine(), cmd.CommandPath())
	}
	return nil
}

// completeArgs completes a namespace from the configuration, and files; anything else would need
// the engine.
func (s *session) completeArgs(names []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		switch {
		case len(args) > 0 || len(names) == 0:
		case strings.HasSuffix(names[0], "NAMESPACE"):
			return s.completeNamespace(nil, nil, "")
		case strings.Contains(names[0], "FILE"):
			return nil, cobra.ShellCompDirectiveDefault
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

// maxInput is the maximum size of values from stdin in bytes: a million emails or two.
const maxInput = 1 << 26

// readArgs replaces values of "-" by values from stdin.
func (s *session) readArgs(names, args []string) ([]string, error) {
	var read []string
	used := false
	for i, arg := range args {
		name := names[min(i, len(names)-1)]
		if arg != "-" || !strings.Contains(name, "VALUE") {
			read = append(read, arg)
			continue
		}
		if used {
			return nil, usage("only one value can be -: stdin is read once")
		}
		used = true
		values, err := s.readValues(strings.HasSuffix(name, "..."))
		if err != nil {
			return nil, err
		}
		read = append(read, values...)
	}
	return read, nil
}

// readValues reads one value per line; without many, exactly one.
func (s *session) readValues(many bool) ([]string, error) {
	var values []string
	input := &io.LimitedReader{R: s.Stdin, N: maxInput + 1}
	lines := bufio.NewScanner(input)
	for lines.Scan() {
		values = append(values, lines.Text())
	}
	switch {
	case lines.Err() != nil:
		return nil, usage("reading a value from stdin: %w", lines.Err())
	case input.N == 0:
		return nil, usage("stdin has more than 64 MiB: split it")
	case len(values) == 0:
		return nil, usage("a value of - is read from stdin, but stdin is empty")
	case len(values) > 1 && !many:
		return nil, usage("a value of - is one line of stdin, but stdin has %d lines", len(values))
	}
	return values, nil
}
