package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/engine"
	"github.com/calldibs/dibs/internal/wire"
)

// clockCommand returns the commands about the engine's clock.
func (s *session) clockCommand() *cobra.Command {
	cmd := s.command("clock", func(ctx context.Context, _ []string) (*answer, error) { return s.readClocks(ctx) })
	cmd.Args = cobra.NoArgs // makes an unknown subcommand an error
	cmd.AddCommand(s.clockSet())
	return cmd
}

func (s *session) clockSet() *cobra.Command {
	var yes bool
	cmd := s.command("clock set", func(ctx context.Context, args []string) (_ *answer, err error) {
		to := s.Now()
		if len(args) == 1 {
			if to, err = parseTime(args[0]); err != nil {
				return nil, usage("%w", err)
			}
		}
		if err := s.sure(yes, "This sets the registry's time to "+date(to)+": holds end by it."); err != nil {
			return nil, err
		}
		return s.setClock(ctx, to)
	})
	yesVar(cmd, &yes)
	return cmd
}

// clockReading is the time of a store's clock.
type clockReading struct {
	Name    string `json:"name"`
	Store   string `json:"store"`
	Time    string `json:"time"`
	AheadMs int64  `json:"aheadMs"` // of this machine's clock; negative means behind
}

// readClocks reads the clocks of the store and of all that the configuration routes to.
func (s *session) readClocks(ctx context.Context) (*answer, error) {
	target, err := s.storeTarget()
	if err != nil {
		return nil, err
	}
	cfg, err := loadConfig(target.Config)
	if err != nil {
		return nil, usage("%w", err)
	}
	stores := append([]engine.Route{{Name: engine.DefaultStore, Store: target.Store}}, cfg.Routes...)
	var readings []clockReading
	var rows [][]string
	for _, store := range stores {
		if err := target.mustExist(ctx, store.Store); err != nil {
			return nil, err
		}
		now, err := engineTime(ctx, store.Store)
		if err != nil {
			return nil, err
		}
		ahead := now.Sub(dibs.InstantOf(s.Now()))
		readings = append(readings, clockReading{store.Name, engine.Redacted(store.Store), wire.FormatTime(now.Time()), ahead.Milliseconds()})
		rows = append(rows, []string{store.Name, date(now.Time()), difference(ahead), engine.Redacted(store.Store)})
	}
	return &answer{map[string]any{"clocks": readings}, func(p *printer) {
		p.table([]string{"name", "time", "this machine", "store"}, rows)
	}}, nil
}

func engineTime(ctx context.Context, address string) (dibs.Instant, error) {
	store, err := engine.Open(ctx, address)
	if err != nil {
		return 0, err
	}
	snapshot, err := store.Load(ctx, nil)
	return snapshot.Now, errors.Join(err, store.Close())
}

// difference describes this machine's clock relative to another. Reading takes a moment, so less
// than a second counts as agreement.
func difference(ahead time.Duration) string {
	switch {
	case ahead >= time.Second:
		return span(ahead) + " behind"
	case ahead <= -time.Second:
		return span(-ahead) + " ahead"
	default:
		return "agrees"
	}
}

func (s *session) setClock(ctx context.Context, to time.Time) (_ *answer, err error) {
	target, err := s.storeTarget()
	if err != nil {
		return nil, err
	}
	if err := target.mustExist(ctx, target.Store); err != nil {
		return nil, err
	}
	store, err := engine.Open(ctx, target.Store)
	if err != nil {
		return nil, err
	}
	defer s.close(store, &err)
	settable, ok := store.(interface {
		SetTime(ctx context.Context, now time.Time) error
	})
	if !ok {
		return nil, usage("only a registry in etcd has a time that can be set: " +
			"SQLite uses the clock of this machine, PostgreSQL that of its server")
	}
	if err := settable.SetTime(ctx, to); err != nil {
		return nil, err
	}
	return &answer{map[string]string{"time": wire.FormatTime(to)}, func(p *printer) {
		p.line("The registry's time is now %s", date(to))
	}}, nil
}
