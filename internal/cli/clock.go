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
	cmd := &cobra.Command{
		Use:     "clock",
		GroupID: groupOperate,
		Short:   "Compare the engine's clock with this machine's, or set it",
		Long: `Compare the engine's clock with this machine's.

Holds end by the engine's clock. For SQLite that is the clock of this machine, for
PostgreSQL that of its server. etcd keeps a recorded time, which servers only move
forward.`,
		Example: indent("dibs clock --store etcd://host1,host2,host3/names"),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.onClock(func(target Target) (*answer, error) { return s.readClocks(cmd.Context(), target) })
		},
	}
	cmd.AddCommand(s.clockSet())
	return cmd
}

func (s *session) clockSet() *cobra.Command {
	return &cobra.Command{
		Use:   "set [TIME]",
		Short: "Set the time of a registry in etcd; without TIME to this machine's",
		Long: `Set the time of a registry in etcd; without TIME to this machine's.

Use it if a server with a wrong clock has moved the time far ahead, so that all others
refuse to write. Stop that server first, and check this machine's clock. Holds that
ended by the wrong time stay ended.`,
		Example: indent(`dibs clock set --store etcd://host1,host2,host3/names
dibs clock set 2026-03-01T15:04:05Z --store etcd://host1,host2,host3/names`),
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			to := s.Now()
			if len(args) == 1 {
				var err error
				if to, err = parseTime(args[0]); err != nil {
					return usage("%w", err)
				}
			}
			return s.onClock(func(target Target) (*answer, error) { return s.setClock(cmd.Context(), target, to) })
		},
	}
}

// onClock runs work on the clock of a store, and prints the answer.
func (s *session) onClock(work func(Target) (*answer, error)) error {
	target, err := s.storeTarget()
	if err != nil {
		return err
	}
	answer, err := work(target)
	s.print(answer, err)
	return err
}

// clockReading is the time of a store's clock.
type clockReading struct {
	Name    string `json:"name"`
	Store   string `json:"store"`
	Time    string `json:"time"`
	AheadMs int64  `json:"aheadMs"` // of this machine's clock; negative means behind
}

// readClocks reads the clocks of the store and of all that the configuration routes to.
func (s *session) readClocks(ctx context.Context, target Target) (*answer, error) {
	cfg, err := loadConfig(target.Config)
	if err != nil {
		return nil, usage("%w", err)
	}
	stores := append([]engine.Route{{Name: engine.DefaultStore, Store: target.Store}}, cfg.Routes...)
	var readings []clockReading
	var rows [][]string
	for _, store := range stores {
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

func (s *session) setClock(ctx context.Context, target Target, to time.Time) (*answer, error) {
	store, err := engine.Open(ctx, target.Store)
	if err != nil {
		return nil, err
	}
	settable, ok := store.(interface {
		SetTime(ctx context.Context, now time.Time) error
	})
	if !ok {
		return nil, errors.Join(usage("only a registry in etcd has a time that can be set: "+
			"SQLite uses the clock of this machine, PostgreSQL that of its server"), store.Close())
	}
	if err := settable.SetTime(ctx, to); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &answer{map[string]string{"time": wire.FormatTime(to)}, func(p *printer) {
		p.line("The registry's time is now %s", date(to))
	}}, store.Close()
}
