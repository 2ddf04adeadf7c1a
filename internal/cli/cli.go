// Package cli is the command line of dibs.
package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/demo"
)

// Process is one run of the command line, with its inputs and outputs.
type Process struct {
	Args   []string  // without the program's name
	Stdin  io.Reader // nil means empty
	Stdout io.Writer
	Stderr io.Writer

	// Getenv reads the environment. Nil means an empty one.
	Getenv func(string) string
	// Environ is the environment that configures a server. Nil means that of the process.
	Environ map[string]string
	// Now is the clock behind hints such as "in 5m". Nil means [time.Now].
	Now func() time.Time
	// Open opens the registry of a command. Nil means [Open].
	Open func(context.Context, Target) (*dibs.Registry, error)
}

// session is a Process while it runs.
type session struct {
	Process
	flags   targetFlags
	json    bool
	noColor bool
	started bool           // the command runs: earlier errors are usage errors
	running *cobra.Command // the command that runs
}

// Run runs the command line and returns the exit code, see [ExitOK]. It writes errors to Stderr;
// with --json it writes them as a document to Stdout.
func (p Process) Run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	s := &session{Process: p.withDefaults()}
	err := s.root().ExecuteContext(ctx)
	if err != nil && !s.started {
		err = usage("%w", err)
	}
	// After an invalid flag, a later --json is not parsed, but still applies.
	s.json = s.json || slices.Contains(s.Args, "--json")
	return s.report(err)
}

func (p Process) withDefaults() Process {
	if p.Stdin == nil {
		p.Stdin = strings.NewReader("")
	}
	if p.Getenv == nil {
		p.Getenv = func(string) string { return "" }
	}
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Open == nil {
		p.Open = Open
	}
	return p
}

// The help lists the commands in the order of a name's life cycle.
func init() { cobra.EnableCommandSorting = false }

// root returns the root command.
func (s *session) root() *cobra.Command {
	manual := readManual()
	about := manual.commands["dibs"]
	root := &cobra.Command{
		Use: about.name, Short: about.short, Long: about.long, Example: about.example,
		SilenceUsage: true, SilenceErrors: true,
		Args: unknownCommand,
	}
	version := root.Flags().Bool("version", false, "show the version, as dibs version does")
	root.RunE = func(cmd *cobra.Command, _ []string) error { return s.runRoot(cmd, *version) }
	root.SetFlagErrorFunc(explainFlag)
	root.AddGroup(manual.groups[1:]...) // the first has only the root
	root.AddCommand(
		s.reserve(), s.reserveFirst(), s.confirm(), s.extend(), s.release(), s.claim(),
		s.rename(), s.transfer(), s.swap(), s.decommission(), s.apply(),
		s.entity(), s.archive(), s.restore(), s.delete(),
		s.check(), s.resolve(), s.get(), s.list(), s.history(), s.whoHeld(), s.events(), s.stats(),
		s.serve(), s.keysCommand(), s.webhookCommand(), s.configCommand(), s.backup(), s.copyCommand(), s.moveScopes(), s.importCommand(), s.exportCommand(), s.dumpCommand(), s.loadCommand(), s.verifyCommand(), s.benchCommand(),
		s.sweep(), s.suspects(), s.settle(), s.rekey(), s.recanonicalize(), s.clockCommand(), s.forget(),
		s.demo(), s.demoCustomer(), s.torture(), s.version(), s.manual(),
	)
	others := manual.groups[len(manual.groups)-1].ID
	root.SetHelpCommandGroupID(others)
	root.SetCompletionCommandGroupID(others)
	s.flags.add(root)
	root.PersistentFlags().BoolVar(&s.json, "json", false, "answer in JSON, errors too")
	root.PersistentFlags().BoolVar(&s.noColor, "no-color", false, "no colours on a terminal (or NO_COLOR)")
	root.SetArgs(append([]string{}, s.Args...)) // for nil, cobra reads the arguments of the process
	root.SetIn(s.Stdin)
	root.SetOut(s.Stdout)
	root.SetErr(s.Stderr)
	return root
}

func (s *session) demo() *cobra.Command {
	return s.command("demo", func(ctx context.Context, _ []string) (*answer, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("the demo cannot find its own program to start a second process: %w", err)
		}
		return nil, demo.Run(ctx, s.Stdout, []string{self, "demo-customer"})
	})
}

// demoCustomer returns the second process of the demo, which is killed.
func (s *session) demoCustomer() *cobra.Command {
	cmd := s.command("demo-customer", func(ctx context.Context, args []string) (*answer, error) {
		return nil, demo.Customer(ctx, s.Stdout, args[0])
	})
	cmd.Hidden = true
	return cmd
}
