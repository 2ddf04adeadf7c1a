package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs/internal/torture"
)

// torture proves on this machine, and on the user's engine, what Dibs survives.
func (s *session) torture() *cobra.Command {
	var cfg torture.Config
	var faults string
	cmd := s.command("torture", func(ctx context.Context, args []string) (*answer, error) {
		if err := s.tortured(&cfg, args, faults); err != nil {
			return nil, err
		}
		progress := tortureProgress{session: s, bar: s.newBar("torture")}
		cfg.Progress = progress.tell
		report, err := torture.Run(ctx, cfg)
		progress.end()
		if errors.Is(err, torture.ErrTooShort) {
			return nil, usage("%w", err)
		}
		if err != nil {
			return nil, err
		}
		if !report.OK {
			err = exitError{ExitUnexpected}
		}
		return &answer{report, func(p *printer) { p.tortureReport(report) }}, err
	})
	flags := cmd.Flags()
	flags.DurationVar(&cfg.For, "for", 30*time.Second, "how `long`; 0 means until it is interrupted, as does --histories or --each without it")
	flags.IntVar(&cfg.Histories, "histories", 0, "end after so `many` histories")
	flags.IntVar(&cfg.Each, "each", 0, "end once each fault has happened so `often`")
	flags.IntVar(&cfg.Servers, "servers", 2, "how `many` servers")
	flags.IntVar(&cfg.Callers, "callers", 16, "about how `many` callers at once")
	flags.StringVar(&faults, "faults", "all", "which faults happen: a `list` such as kill,cut, or all, or none")
	flags.StringVar(&cfg.Etcd, "etcd", "", "the `program` of private etcd members (default: the one in the PATH)")
	flags.Uint64Var(&cfg.Seed, "seed", 0, "the `number` that decides what callers do; 0 means a random one")
	flags.StringVar(&cfg.Folder, "folder", "", "a `folder` that gets a new one with logs and pictures (default: a temporary one, which stays if anything is wrong)")
	return cmd
}

// tortured completes the configuration of a run. The store of the environment does not count: it is
// most likely one that nobody wants to torture.
func (s *session) tortured(cfg *torture.Config, args []string, faults string) error {
	if s.flags.server != "" {
		return usage("torture starts servers of its own: use --store with the address of their engine")
	}
	if s.flags.config != "" {
		return usage("torture has policies of its own: leave --config out")
	}
	if cfg.Histories+cfg.Each > 0 && !s.running.Flag("for").Changed {
		cfg.For = 0
	}
	cfg.Store = s.flags.store
	if len(args) == 1 {
		if cfg.Store != "" {
			return usage("%q is a private engine: leave --store out", args[0])
		}
		if !slices.Contains(torture.PrivateEngines, args[0]) {
			return usage("unknown engine %q: %s, or use --store with an address", args[0], strings.Join(torture.PrivateEngines, ", "))
		}
		cfg.Store = args[0]
	}
	if cfg.Servers < 1 || cfg.Callers < 1 {
		return usage("--servers and --callers must be at least 1")
	}
	switch faults {
	case "all":
	case "none":
		cfg.Faults = []string{}
	default:
		for name := range strings.SplitSeq(faults, ",") {
			cfg.Faults = append(cfg.Faults, strings.TrimSpace(name))
		}
	}
	if err := cfg.Check(); err != nil {
		return usage("%w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("the program cannot find itself to start servers: %w", err)
	}
	cfg.Program = []string{self}
	if cfg.Folder != "" {
		return os.MkdirAll(cfg.Folder, 0o700)
	}
	return nil
}

// tortureProgress shows how far a run is: as a bar on a terminal, as lines elsewhere.
type tortureProgress struct {
	session *session
	bar     *bar // nil unless stderr is a terminal

	mu    sync.Mutex
	shown time.Time
}

func (t *tortureProgress) tell(p torture.Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := tortureText(p)
	if t.bar != nil {
		if p.Of > 0 {
			t.bar.tracker.UpdateTotal(p.Of.Milliseconds() + 1)
			t.bar.tracker.SetValue(min(p.Elapsed, p.Of).Milliseconds())
		}
		t.bar.show(text)
		return
	}
	if time.Since(t.shown) >= progressEvery || p.Doing == "audit" || p.Doing == "start" {
		t.shown = time.Now()
		fmt.Fprintf(t.session.Stderr, "%4.0fs  %s\n", p.Elapsed.Seconds(), text)
	}
}

// tortureText says how far a run is, what matters most first.
func tortureText(p torture.Progress) (text string) {
	if p.Violations > 0 {
		text = count(p.Violations, "violation", "violations") + ", "
	}
	switch p.Doing {
	case "start":
		return "starting engine and servers"
	case "audit":
		text += "comparing everything, "
	}
	return text + fmt.Sprintf("%s operations, %s, %s, %s with an unknown outcome", thousands(p.Operations),
		count(p.Faults, "fault", "faults"), count(p.Histories, "history", "histories"), thousands(p.Unknown))
}

func (t *tortureProgress) end() {
	if t.bar != nil {
		t.bar.show("torture")
		t.bar.end()
	}
}

func (p *printer) tortureReport(r torture.Report) {
	p.line("%s, %s and %d callers, for %.0f s; seed %d", r.Engine, count(r.Servers, "server", "servers"), r.Callers, r.Seconds, r.Seed)
	p.line("")
	again := ""
	if r.Audit.Again > 0 {
		again = fmt.Sprintf("; and again %s of earlier rounds", count(r.Audit.Again, "name", "names"))
	}
	p.fields(
		[2]string{"operations", fmt.Sprintf("%s in %s, %s of them during faults", thousands(r.Operations), count(r.Histories, "history", "histories"), thousands(r.Disturbed))},
		[2]string{"unavailable", thousands(r.Unavailable) + " more operations were answered UNAVAILABLE, and none of them happened"},
		[2]string{"unknown outcome", fmt.Sprintf("%s: %s happened, %s did not, %s left no trace either way", thousands(r.Unknown.Operations),
			thousands(r.Unknown.Happened), thousands(r.Unknown.Not), thousands(r.Unknown.NoTrace))},
		[2]string{"compared", fmt.Sprintf("%s events, %s names, %s entities, %s acknowledged changes", thousands(r.Audit.Events),
			thousands(r.Audit.Names), thousands(r.Audit.Entities), thousands(r.Audit.Changes)) + again},
	)
	if len(r.Faults) > 0 {
		p.line("")
		rows := make([][]string, len(r.Faults))
		for i, f := range r.Faults {
			at := func(ms float64) string { return latency(time.Duration(ms * float64(time.Millisecond))) }
			rows[i] = []string{f.Fault, thousands(f.Count), at(f.MedianMs), at(f.MaxMs), f.About}
		}
		p.table([]string{"fault", "times", "service after: median", "at most", "what happened"}, rows)
	}
	if d := r.Damaged; d != nil {
		p.line("")
		p.line("Of %s, %d were refused, %d served with the damage named, %d without the last commits, %d without a record that an index has lost, and %d were unharmed.",
			count(d.Copies, "damaged copy", "damaged copies"), d.Refused, d.Named, d.Older, d.Lacking, d.Unharmed)
	}
	if r.Interrupted {
		p.line("")
		p.line("It was interrupted: this is about the time before.")
	}
	if len(r.NotReached) > 0 {
		p.line("")
		p.line("It ended before what was wanted was reached: %s.", strings.Join(r.NotReached, ", "))
	}
	if len(r.NoTime) > 0 {
		p.line("")
		p.line("Did not happen in this time: %s.", strings.Join(r.NoTime, ", "))
	}
	for _, left := range r.LeftOut {
		p.line("")
		p.line("Left out: %s.", left)
	}
	p.line("")
	if r.Scope != "" {
		p.line("The names of the scope %s stay in the store.", r.Scope)
	}
	if r.OK {
		p.line("Every answer is right: each operation happened at one moment, or not at all; feed, histories and state agree.")
		if r.Folder != "" {
			p.line("The logs of the servers are in %s.", r.Folder)
		}
		return
	}
	p.line("%s:", count(len(r.Violations), "violation", "violations"))
	for _, v := range r.Violations {
		p.line("")
		p.line("%s: %s", v.Kind, clean(v.What))
		for _, operation := range v.Operations {
			p.line("  %s", clean(operation))
		}
		if v.Picture != "" {
			p.line("  picture: %s", v.Picture)
		}
	}
	p.line("")
	p.line("The logs of the servers are in %s. Please report this.", r.Folder)
}
