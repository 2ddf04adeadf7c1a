package cli

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"
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
