package cli

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/time/rate"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/snapshot"
	"github.com/calldibs/dibs/internal/verify"
)

// verifying is one run of "dibs verify".
type verifying struct {
	session *session
	rate    int // records and events a second; 0 means as fast as possible
	most    int // findings on a terminal
	fix     bool
	yes     bool
	against string
	source  importing // of --against
	advisor advisor   // for differences

	progress progress
	shown    int
	advice   map[string]string // by check
}

func (s *session) verifyCommand() *cobra.Command {
	v := &verifying{session: s, source: importing{session: s}, advice: make(map[string]string)}
	cmd := s.command("verify", func(ctx context.Context, _ []string) (*answer, error) { return v.run(ctx) })
	flags := cmd.Flags()
	flags.StringVar(&v.against, "against", "", "compare with this `source`: a file, - for stdin, or a database (with --query)")
	mappingVar(flags, &v.source.options.Mapping)
	flags.StringVar(&v.source.format, "format", "", "of --against: csv, tsv or jsonl (default: by the file's `ending`)")
	flags.StringVar(&v.source.query, "query", "", "the `SQL` query on the database of --against")
	flags.BoolVar(&v.fix, "fix", false, "import what is missing, after a plan and a question; with --against")
	yesVar(cmd, &v.yes)
	flags.IntVar(&v.rate, "rate", 0, "read at most this `many` records and events a second (default: no limit)")
	flags.IntVar(&v.most, "show", 100, "how many findings to show; --json shows all")
	return cmd
}

func (v *verifying) run(ctx context.Context) (*answer, error) {
	switch {
	case v.rate < 0:
		return nil, usage("--rate is %d; it must be at least 1, or 0 for no limit", v.rate)
	case v.against != "":
		return v.runAgainst(ctx)
	case v.fix:
		return nil, usage("--fix needs --against: a store that contradicts itself cannot say what is right; docs/verifying.md says what to do about each finding")
	case v.source.query != "":
		return nil, usage("--query needs --against with the address of a database")
	}
	target, err := v.session.target()
	if err != nil {
		return nil, err
	}
	if target.Server != "" {
		return nil, usage("to check a store against itself, open it: use --store; a server can be compared with another system: --against")
	}
	target.Damaged = true
	began := time.Now()
	report, err := v.checkStore(ctx, target)
	v.progress.end()
	if err != nil {
		return nil, err
	}
	if report.Findings > 0 {
		err = exitError{ExitFindings}
	}
	return v.answer(report, time.Since(began)), err
}

// checkStore checks the store, and each part of one that consists of several.
func (v *verifying) checkStore(ctx context.Context, target Target) (total verify.Report, err error) {
	cfg, store, registry, err := openStore(ctx, target)
	if err != nil {
		return total, err
	}
	defer v.session.close(registry, &err)
	parts := []dibs.Part{{Store: store}}
	partOf := func(string) int { return 0 }
	if several, ok := store.(dibs.Partitioned); ok {
		parts, partOf = several.Parts(), several.PartOf
	}
	for i, part := range parts {
		options := verify.Options{
			Policies: cfg.Policies, Default: cfg.Default, Found: v.found, Progress: v.tell, Pause: v.limiter(),
			InPart: func(scope string) bool { return partOf(scope) == i },
		}
		report, err := checkPart(ctx, part.Store, options)
		if err != nil {
			return total, fmt.Errorf("could not verify %s: %w", strings.TrimSpace("the store "+part.Name), err)
		}
		total.Add(report)
	}
	return total, nil
}

// checkPart checks one engine. The snapshot is open only while it is read.
func checkPart(ctx context.Context, store dibs.Store, options verify.Options) (verify.Report, error) {
	view, err := snapshot.Take(ctx, store)
	if err != nil {
		return verify.Report{}, err
	}
	finish, closeRun, err := verify.Read(ctx, view, options)
	_ = view.Close()
	if err != nil {
		return verify.Report{}, err
	}
	defer func() { _ = closeRun() }()
	return finish()
}

// limiter returns what slows reading down to --rate.
func (v *verifying) limiter() func(context.Context, int) error {
	if v.rate == 0 {
		return nil
	}
	limit := rate.NewLimiter(rate.Limit(v.rate), v.rate)
	limit.AllowN(time.Now(), v.rate) // it begins empty
	return func(ctx context.Context, n int) error {
		for n > 0 {
			part := min(n, v.rate)
			if err := limit.WaitN(ctx, part); err != nil {
				return err
			}
			n -= part
		}
		return nil
	}
}

func (v *verifying) tell(p verify.Progress) {
	if v.progress.what != string(p.Phase) {
		v.progress.begin(v.session, string(p.Phase), nil)
	}
	if p.Phase == verify.CheckingFile {
		return // it is told once, when it begins
	}
	v.progress.show(p.Done, of(p.Phase), p)
}

// of returns what the progress of a phase counts.
func of(phase verify.Phase) string {
	switch phase {
	case verify.ReadingEvents:
		return "events"
	case verify.Comparing:
		return "facts"
	default:
		return "records"
	}
}

// found writes a finding: for programs at once, for people as long as there are not too many.
func (v *verifying) found(f verify.Finding) error {
	if v.session.json {
		return v.source.event("finding", f)
	}
	v.advice[f.Check] = f.Advice
	if v.shown++; v.shown > v.most {
		return nil
	}
	v.progress.end()
	p := v.session.printer()
	fmt.Fprintf(p.out, "%s %s  %s\n", p.paint.in(red, clean(f.Where())), p.paint.in(faint, f.Check), clean(f.Problem))
	for _, line := range [][2]string{{"entity", f.Entity}, {"record", f.Record}, {"found", f.Found}, {"expected", f.Expected}} {
		if line[1] != "" && line[1] != f.Where() {
			fmt.Fprintf(p.out, "    %s %s\n", p.paint.in(faint, fmt.Sprintf("%-9s", line[0])), clean(line[1]))
		}
	}
	return nil
}

// answer sums a check of a store up. With --json it is the last event.
func (v *verifying) answer(r verify.Report, took time.Duration) *answer {
	if v.session.json {
		_ = v.source.event("done", struct {
			At string `json:"at"`
			verify.Report
		}{r.At.String(), r})
		return nil
	}
	return &answer{text: func(p *printer) {
		if v.shown > v.most {
			p.line("… and %s more: --show or --json shows them.", thousands(v.shown-v.most))
		}
		if v.shown > 0 {
			p.line("")
		}
		p.line("Checked %s, %s and %s as of %s, in %s.", count(r.Names, "name", "names"), count(r.Entities, "entity", "entities"),
			count(r.Events, "event", "events"), date(r.At.Time()), span(took.Round(time.Second)))
		if len(r.Skipped) > 0 {
			p.line("The rules of %s are being changed, so its values were not checked.", strings.Join(r.Skipped, ", "))
		}
		if r.Findings == 0 {
			fmt.Fprintln(p.out, p.paint.in(green, fmt.Sprintf("All is well: %d checks, no findings.", len(verify.Checks))))
			return
		}
		fmt.Fprintln(p.out, p.paint.in(red, count(r.Findings, "finding", "findings")+":"))
		v.adviceTable(p, r.ByCheck)
	}}
}

// adviceTable says what to do about each kind of finding.
func (v *verifying) adviceTable(p *printer, byCheck map[string]int) {
	for _, check := range slices.Sorted(maps.Keys(byCheck)) {
		p.line("  %s %s  %s", thousands(byCheck[check]), check, v.advice[check])
	}
	p.line("Nothing was changed. docs/verifying.md explains each check.")
}

// isFile reports whether --against names a file.
func isFile(source string) bool {
	if source == "-" {
		return true
	}
	_, err := os.Stat(source)
	return err == nil || !strings.Contains(source, ":")
}
