package cli

import (
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs"
)

// HelpPaths returns the paths of all commands that have a help, such as "keys create".
func HelpPaths() []string { return slices.Sorted(maps.Keys(readManual().commands)) }

// VerbNames returns the names of all commands that are shown, with those of the groups
// they are in, such as "keys create".
func VerbNames() []string {
	s := &session{Process: Process{}.withDefaults()}
	return namesBelow(s.root(), "")
}

func namesBelow(parent *cobra.Command, prefix string) []string {
	var names []string
	for _, command := range parent.Commands() {
		if !command.IsAvailableCommand() {
			continue
		}
		name := prefix + command.Name()
		names = append(append(names, name), namesBelow(command, name+" ")...)
	}
	return names
}

// The text of tables, for tests.
var (
	Clean = clean
	Span  = span
)

// NewLog is the log of a server, for tests.
var NewLog = newLog

// HintedCodes returns the codes after which there are hints.
func HintedCodes() []dibs.Code { return slices.Sorted(maps.Keys(hints)) }

// built are all commands, which take long to build. Cobra changes them when it is asked for flags.
var built struct {
	sync.Mutex
	root *cobra.Command
}

// HasFlag reports whether a command has a flag.
func HasFlag(verb, flag string) bool {
	built.Lock()
	defer built.Unlock()
	if built.root == nil {
		built.root = (&session{Process: Process{}.withDefaults()}).root()
	}
	cmd, _, err := built.root.Find(strings.Fields(verb))
	if err != nil {
		return false
	}
	return cmd.Flag(flag) != nil || cmd.InheritedFlags().Lookup(flag) != nil
}

// AnyHasFlag returns a function that reports whether any command has a flag.
func AnyHasFlag() func(flag string) bool {
	verbs := VerbNames()
	return func(flag string) bool {
		return flag == "help" || slices.ContainsFunc(verbs, func(verb string) bool { return HasFlag(verb, flag) })
	}
}

// ShowBar shows the bar of a command on a terminal.
func ShowBar(terminal *os.File) (show func(text string), end func()) {
	s := &session{Process: Process{Stderr: terminal}}
	b := s.newBar("importing")
	return b.show, b.end
}
