package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs/internal/build"
	"github.com/calldibs/dibs/internal/config"
	"github.com/calldibs/dibs/internal/manpage"
)

// manual returns the command that writes the manual pages, for packages. It is hidden: users have
// the pages, or the help.
func (s *session) manual() *cobra.Command {
	cmd := s.command("manual", func(_ context.Context, args []string) (*answer, error) {
		info := build.Read()
		date, _ := time.Parse(time.RFC3339, info.Date) // zero if there is none
		edition := manpage.Edition{Version: info.Version, Date: date}
		return nil, manpage.New(s.root(), "dibs.toml", config.Sample, edition).Write(args[0])
	})
	cmd.Hidden = true
	return cmd
}
