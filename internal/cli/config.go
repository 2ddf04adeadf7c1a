package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs/internal/config"
	"github.com/calldibs/dibs/internal/engine"
)

// configCommand returns the commands about the configuration of a server.
func (s *session) configCommand() *cobra.Command {
	return s.group("config", s.command("config check", s.checkConfig),
		s.command("config sample", func(context.Context, []string) (*answer, error) {
			_, err := io.WriteString(s.Stdout, config.Sample)
			return nil, err
		}))
}

func (s *session) checkConfig(_ context.Context, args []string) (*answer, error) {
	o := config.Overrides{File: s.flags.config, Environ: s.Environ}
	if len(args) == 1 {
		o.File = args[0]
	}
	cfg, err := config.Load(o)
	if err != nil {
		return nil, usage("%w", err)
	}
	if cfg.TLS.On() {
		if _, err := cfg.TLS.Load(); err != nil {
			return nil, usage("tls: %w", err)
		}
	}
	return &answer{map[string]any{"ok": true, "policies": len(cfg.Policies)}, func(p *printer) {
		p.line("The configuration is valid: %s, listening on %s, names in %s",
			count(len(cfg.Policies), "policy", "policies"), cfg.Listen, engine.Redacted(cfg.Store))
		for _, route := range cfg.Routes {
			p.line("  names of %s in %s (%s)", join(route.Scopes), engine.Redacted(route.Store), route.Name)
		}
	}}, nil
}
