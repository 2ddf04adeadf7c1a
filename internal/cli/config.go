package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs/internal/config"
	"github.com/calldibs/dibs/internal/engine"
)

// configCommand returns the commands about the configuration of a server.
func (s *session) configCommand() *cobra.Command {
	check := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Report all errors in a configuration",
		Long: `Report all errors in a configuration, with file and line.

It applies the environment, as "dibs serve" does. It reads the files of certificates
and secrets, but opens no store and calls no service.`,
		Example: indent("dibs config check dibs.toml"),
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o := config.Overrides{File: s.flags.config, Environ: s.Environ}
			if len(args) == 1 {
				o.File = args[0]
			}
			cfg, err := config.Load(o)
			if err != nil {
				return usage("%w", err)
			}
			if cfg.TLS.On() {
				if _, err := cfg.TLS.Load(); err != nil {
					return usage("tls: %w", err)
				}
			}
			s.print(&answer{map[string]any{"ok": true, "policies": len(cfg.Policies)}, func(p *printer) {
				p.line("The configuration is valid: %s, listening on %s, names in %s",
					count(len(cfg.Policies), "policy", "policies"), cfg.Listen, engine.Redacted(cfg.Store))
				for _, route := range cfg.Routes {
					p.line("  names of %s in %s (%s)", strings.Join(route.Scopes, ", "), engine.Redacted(route.Store), route.Name)
				}
			}}, nil)
			return nil
		},
	}
	sample := &cobra.Command{
		Use:     "sample",
		Short:   "Print a configuration with every setting, its default and what it does",
		Example: indent("dibs config sample > dibs.toml"),
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := s.Stdout.Write([]byte(config.Sample))
			return err
		},
	}
	return group(&cobra.Command{
		Use: "config", GroupID: groupOperate, Short: "Check the configuration of a server, or print a sample",
	}, check, sample)
}
