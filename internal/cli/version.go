package cli

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs/internal/build"
)

func (s *session) version() *cobra.Command {
	return s.command("version", func(context.Context, []string) (*answer, error) { return versionAnswer(), nil })
}

// runRoot runs dibs without a command: it shows the help, or with --version the version.
func (s *session) runRoot(cmd *cobra.Command, version bool) error {
	if !version {
		return cmd.Help()
	}
	s.print(versionAnswer(), nil)
	return nil
}

func versionAnswer() *answer {
	info := build.Read()
	return &answer{info, func(p *printer) {
		commit := info.Commit
		if day, _, dated := strings.Cut(info.Date, "T"); dated {
			commit += " of " + day
		}
		if info.Modified {
			commit += ", modified"
		}
		lines := [][2]string{{"dibs", info.Version}, {"commit", commit}, {"go", strings.TrimPrefix(info.Go, "go") + " " + info.Platform}}
		for _, engine := range info.Engines {
			library := strings.TrimSpace(engine.Library + " " + engine.Version)
			lines = append(lines, [2]string{engine.Name, cmp.Or(library, "built in")})
		}
		p.fields(lines...)
	}}
}
