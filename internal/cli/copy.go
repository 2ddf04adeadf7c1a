package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/copier"
	"github.com/calldibs/dibs/internal/engine"
)

// copying is one run of "dibs copy".
type copying struct {
	session  *session
	from, to string
	place    string
	cursor   string // to translate
	noFence  bool
	abandon  bool
	yes      bool

	progress progress
	step     copier.Step
}

func (s *session) copyCommand() *cobra.Command {
	c := &copying{session: s}
	cmd := s.command("copy", func(ctx context.Context, _ []string) (*answer, error) { return c.run(ctx) })
	flags := cmd.Flags()
	flags.StringVar(&c.from, "from", "", "the `store` to copy: sqlite:dibs.db, postgres://…, etcd://…")
	flags.StringVar(&c.to, "to", "", "the new `store`, which is empty")
	flags.StringVar(&c.place, "place", "", "what callers of --from are told: the new `address`, such as a URL (default: \"another store\")")
	flags.BoolVar(&c.noFence, "no-fence", false, "copy and catch up only; run it again without this to finish")
	flags.BoolVar(&c.abandon, "abandon", false, "give up a copy that is not finished: --from takes changes again")
	flags.StringVar(&c.cursor, "cursor", "", "print the `cursor` in --to for one of --from, after the copy")
	yesVar(cmd, &c.yes)
	cmd.MarkFlagsMutuallyExclusive("no-fence", "abandon", "cursor")
	return cmd
}

func (c *copying) run(ctx context.Context) (_ *answer, err error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if err := engine.MustExist(ctx, c.from); err != nil {
		return nil, err
	}
	lost := false
	if c.abandon || c.cursor != "" {
		err := engine.MustExist(ctx, c.to)
		if lost = c.abandon && errors.Is(err, engine.ErrNoStore); err != nil && !lost {
			return nil, err
		}
	}
	source, err := engine.Open(ctx, c.from)
	if err != nil {
		return nil, fmt.Errorf("--from: %w", err)
	}
	defer c.session.close(source, &err)
	if lost {
		return c.giveUp(ctx, source, nil, c.options())
	}
	target, err := engine.Open(ctx, c.to)
	if err != nil {
		return nil, fmt.Errorf("--to: %w", err)
	}
	defer c.session.close(target, &err)
	switch options := c.options(); {
	case c.cursor != "":
		return c.translate(ctx, source, target)
	case c.abandon:
		return c.giveUp(ctx, source, target, options)
	default:
		return c.copy(ctx, source, target, options)
	}
}

func (c *copying) check() error {
	if c.from == "" || c.to == "" {
		return usage("copy from one store to another: --from and --to")
	}
	if c.session.flags.store != "" || c.session.flags.server != "" || c.session.flags.config != "" {
		return usage("--store, --server and --config have no meaning here: use --from and --to")
	}
	for _, address := range []*string{&c.from, &c.to} {
		if err := engine.Check(*address); err != nil {
			return usage("%w", err)
		}
		if *address == "mem:" {
			return usage("mem: is lost with the process: use another engine")
		}
		if file, ok := strings.CutPrefix(*address, "sqlite:"); ok { // callers elsewhere are told the place
			path, err := filepath.Abs(file)
			if err != nil {
				return usage("%w", err)
			}
			*address = "sqlite:" + path
		}
	}
	if c.from == c.to {
		return usage("--from and --to are the same store")
	}
	if strings.ContainsAny(c.place, "\r\n") {
		return usage("--place is one line")
	}
	return nil
}

func (c *copying) options() copier.Options {
	return copier.Options{
		From: engine.Redacted(c.from), To: engine.Redacted(c.to), Place: c.place,
		NoFence: c.noFence, Progress: c.tell,
	}
}

func (c *copying) copy(ctx context.Context, source, target dibs.Store, o copier.Options) (*answer, error) {
	if !c.noFence {
		if err := c.session.sure(c.yes, fmt.Sprintf("When the copy has caught up, %s refuses all changes:\nits servers tell their callers that the registry has moved to %s.",
			o.From, o.Told())); err != nil {
			return nil, err
		}
	}
	report, err := copier.Run(ctx, source, target, o)
	c.progress.end()
	switch {
	case errors.Is(err, copier.ErrNotEmpty), errors.Is(err, copier.ErrOther), errors.Is(err, copier.ErrMoved):
		return nil, usage("%w", err)
	case err != nil:
		return nil, fmt.Errorf("%w\n  what was copied is kept: run the command again to go on, or give up with --abandon", err)
	}
	if c.session.json {
		return nil, c.event("done", report)
	}
	return &answer{text: func(p *printer) { c.tellReport(p, report, o) }}, nil
}

func (c *copying) tellReport(p *printer, r copier.Report, o copier.Options) {
	switch {
	case r.Earlier:
		p.line("The copy was finished before: the registry is at %s.", o.To)
		return
	case c.noFence:
		p.line("%s has everything of %s up to a moment ago. Run the command again without --no-fence to finish.", o.To, o.From)
		return
	}
	p.line("%s, %s, %s and %s: the same on both sides.", count(r.Names, "name", "names"), count(r.Entities, "entity", "entities"),
		count(r.Documents, "document", "documents"), count(r.Events, "event", "events"))
	if r.Refused > 0 {
		p.line("Changes were refused for %s until the copy was complete.", r.Refused.Round(10*time.Millisecond))
	}
	p.line("")
	p.line("%s takes no more changes: its callers are told that the registry has moved to %s.", o.From, o.Told())
	p.line("Start the servers with the new store, and stop the old ones:")
	p.line("  dibs serve --store %s", shellWord(o.To))
	p.line("Readers of events with a cursor of their own: dibs copy --cursor CURSOR, see docs/moving.md.")
}

func (c *copying) giveUp(ctx context.Context, source, target dibs.Store, o copier.Options) (*answer, error) {
	if err := copier.Abandon(ctx, source, target, o); err != nil {
		if errors.Is(err, copier.ErrDone) || errors.Is(err, copier.ErrMoved) || errors.Is(err, copier.ErrNotTarget) {
			return nil, usage("%w", err)
		}
		return nil, err
	}
	return &answer{map[string]string{"store": o.From}, func(p *printer) {
		if p.line("%s takes changes.", o.From); target != nil {
			p.line("What was copied to %s is of no use now: delete it.", o.To)
		}
	}}, nil
}

func (c *copying) translate(ctx context.Context, source, target dibs.Store) (*answer, error) {
	cursor, err := copier.Translate(ctx, source, target, dibs.Cursor(c.cursor))
	if errors.Is(err, copier.ErrNotTarget) {
		return nil, usage("%w", err)
	}
	if err != nil {
		return nil, err
	}
	return &answer{map[string]dibs.Cursor{"cursor": cursor}, func(p *printer) { p.line("%s", cursor) }}, nil
}

// tell shows the progress: a bar for each step on a terminal, lines elsewhere, events with --json.
func (c *copying) tell(step copier.Step, done int) {
	p := &c.progress
	if step != c.step {
		c.step = step
		p.begin(c.session, string(step), nil)
		p.shown = time.Time{} // a step is shown at once
	}
	rate := thousands(int(float64(done) / max(time.Since(p.began).Seconds(), 0.001)))
	switch {
	case p.bar != nil:
		p.bar.show(fmt.Sprintf("%s: %s, %s/s", step, thousands(done), rate))
	case time.Since(p.shown) < progressEvery:
	case c.session.json:
		p.shown = time.Now()
		_ = c.event(string(step), map[string]int{"done": done})
	case done == 0:
		p.shown = time.Now()
		fmt.Fprintf(c.session.Stderr, "%s\n", step)
	default:
		p.shown = time.Now()
		fmt.Fprintf(c.session.Stderr, "%s: %s, %s/s\n", step, thousands(done), rate)
	}
}

// event writes an event for programs.
func (c *copying) event(kind string, detail any) error {
	return c.session.encode(struct {
		Event  string `json:"event"`
		Detail any    `json:"detail"`
	}{kind, detail}, "")
}

func (s *session) moveScopes() *cobra.Command {
	var yes bool
	cmd := s.command("move-scopes", func(ctx context.Context, _ []string) (_ *answer, err error) {
		target, err := s.storeTarget()
		if err != nil {
			return nil, err
		}
		cfg, err := loadConfig(target.Config)
		if err != nil {
			return nil, usage("%w", err)
		}
		if len(cfg.Routes) == 0 {
			return nil, usage("no routes: use --config with the file that has the new ones")
		}
		if err := engine.MustExist(ctx, target.Store); err != nil {
			return nil, err
		}
		if err := s.sure(yes, "All servers stop until they have the new routes. They answer UNAVAILABLE meanwhile."); err != nil {
			return nil, err
		}
		log := slog.New(slog.NewTextHandler(s.Stderr, nil))
		store, err := engine.OpenLayout(ctx, engine.Layout{Store: target.Store, Routes: cfg.Routes, Move: true, Logger: log})
		if err != nil {
			return nil, err
		}
		defer s.close(store, &err)
		return &answer{map[string]bool{"moved": true}, func(p *printer) {
			p.line("All scopes are in the stores that the routes give them to. Start the servers with this configuration.")
		}}, nil
	})
	yesVar(cmd, &yes)
	return cmd
}
