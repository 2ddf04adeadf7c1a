// Package manpage writes manual pages, in the language mdoc, from the help of commands.
package manpage

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Edition says of which version the pages are.
type Edition struct {
	Version string
	Date    time.Time // the zero Time means that it is unknown
}

// Pages are the texts of manual pages by their file names, such as "dibs-reserve.1".
type Pages map[string]string

// Write writes the pages into a folder, and creates it. Everybody may read them.
func (p Pages) Write(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, text := range p {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// New returns a page for the root command, one for each of its commands, with their subcommands,
// and one for its configuration file, of which sample is a text with every setting.
func New(root *cobra.Command, file, sample string, e Edition) Pages {
	pages := Pages{root.Name() + ".1": e.rootPage(root, file), file + ".5": e.filePage(root, file, sample)}
	for _, cmd := range shown(root) {
		pages[pageName(cmd)+".1"] = e.commandPage(root, cmd)
	}
	return pages
}

// shown returns the commands below a command that its help lists.
func shown(parent *cobra.Command) (list []*cobra.Command) {
	for _, cmd := range parent.Commands() {
		if cmd.IsAvailableCommand() && cmd.Name() != "help" {
			list = append(list, cmd)
		}
	}
	return list
}

// pageName returns the name of the page of a command: dibs-reserve.
func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

func (e Edition) rootPage(root *cobra.Command, file string) string {
	p := e.begin(root.Name(), "1", root.Short)
	p.heading("SYNOPSIS")
	p.macro("Nm", root.Name())
	p.macro("Ar command")
	p.macro("Op Ar arguments")
	p.macro("Op Ar options")
	p.heading("DESCRIPTION")
	p.text(root.Long)
	p.heading("COMMANDS")
	for _, group := range root.Groups() {
		p.macro("Ss", escape(strings.TrimSuffix(group.Title, ":")))
		p.macro("Bl -tag -width Ds")
		for _, cmd := range shown(root) {
			if cmd.GroupID == group.ID {
				p.macro("It Xr", pageName(cmd), "1")
				p.text(cmd.Short)
			}
		}
		p.macro("El")
	}
	p.options("OPTIONS", root.LocalFlags())
	p.examples(root)
	p.heading("SEE ALSO")
	p.macro("Xr", root.Name()+"-serve", "1", ",")
	p.macro("Xr", file, "5")
	return p.String()
}

func (e Edition) commandPage(root, cmd *cobra.Command) string {
	p := e.begin(pageName(cmd), "1", cmd.Short)
	p.heading("SYNOPSIS")
	all := append([]*cobra.Command{cmd}, below(cmd)...)
	for _, c := range all {
		if c.Runnable() && len(shown(c)) == 0 || c.Flags().HasFlags() && c == cmd {
			p.synopsis(c)
		}
	}
	p.heading("DESCRIPTION")
	p.about(cmd)
	p.options("OPTIONS", cmd.NonInheritedFlags())
	p.examples(cmd)
	if len(all) > 1 {
		p.heading("COMMANDS")
		for _, c := range all[1:] {
			p.macro("Ss", escape(strings.TrimPrefix(c.CommandPath(), root.Name()+" ")))
			p.about(c)
			p.options("", c.NonInheritedFlags())
			p.exampleBlock(c)
		}
	}
	p.heading("SEE ALSO")
	p.macro("Xr", root.Name(), "1")
	p.text("has the options of all commands, and the exit codes.")
	return p.String()
}

// below returns the commands below a command, with those below them.
func below(parent *cobra.Command) (list []*cobra.Command) {
	for _, cmd := range shown(parent) {
		list = append(append(list, cmd), below(cmd)...)
	}
	return list
}

func (e Edition) filePage(root *cobra.Command, file, sample string) string {
	p := e.begin(file, "5", "the configuration of "+root.Name()+" serve")
	p.heading("DESCRIPTION")
	p.text(fmt.Sprintf("%s serve --config FILE reads its settings from a file in TOML. %s config check FILE reports all mistakes in one. "+
		"This is every setting with its default, as %s config sample prints it:", root.Name(), root.Name(), root.Name()))
	p.literal(sample)
	p.heading("SEE ALSO")
	p.macro("Xr", root.Name()+"-config", "1", ",")
	p.macro("Xr", root.Name()+"-serve", "1")
	return p.String()
}

// about describes a command.
func (p *page) about(cmd *cobra.Command) { p.text(cmp.Or(cmd.Long, cmd.Short+".")) }

// synopsis shows how a command is called: its words, options and arguments.
func (p *page) synopsis(cmd *cobra.Command) {
	words := strings.Fields(strings.TrimSuffix(cmd.UseLine(), " [flags]"))
	p.macro("Nm", escape(strings.Join(words[:len(strings.Fields(cmd.CommandPath()))], " ")))
	for _, arg := range words[len(strings.Fields(cmd.CommandPath())):] {
		if inner, optional := strings.CutPrefix(arg, "["); optional {
			p.macro("Op Ar", escape(strings.TrimSuffix(inner, "]")))
		} else {
			p.macro("Ar", escape(arg))
		}
	}
	if cmd.NonInheritedFlags().HasAvailableFlags() {
		p.macro("Op Ar options")
	}
}

// options describes flags, under a heading if it is not empty.
func (p *page) options(heading string, flags *pflag.FlagSet) {
	var described []*pflag.Flag
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			described = append(described, f)
		}
	})
	if len(described) == 0 {
		return
	}
	if heading != "" {
		p.heading(heading)
	}
	p.macro("Bl -tag -width Ds")
	for _, f := range described {
		value, usage := pflag.UnquoteUsage(f)
		item := []string{"Fl", escape("-" + f.Name)}
		if f.Shorthand != "" {
			item = []string{"Fl", f.Shorthand, ",", "Fl", escape("-" + f.Name)}
		}
		if value != "" {
			item = append(item, "Ar", escape(value))
		}
		p.macro("It", item...)
		if usual(f) != "" {
			usage += " (default " + usual(f) + ")"
		}
		p.text(usage)
	}
	p.macro("El")
}

// usual returns the default of a flag, or "" if there is none to mention.
func usual(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "false", "0", "0s", "[]":
		return ""
	}
	return f.DefValue
}

func (p *page) examples(cmd *cobra.Command) {
	if cmd.Example != "" {
		p.heading("EXAMPLES")
		p.exampleBlock(cmd)
	}
}

func (p *page) exampleBlock(cmd *cobra.Command) {
	if cmd.Example != "" {
		p.literal(unindent(cmd.Example))
	}
}

func unindent(text string) string {
	return strings.TrimPrefix(strings.ReplaceAll(text, "\n  ", "\n"), "  ")
}
