package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
	"github.com/calldibs/dibs/sqlitestore"
)

func (s *session) sweep() *cobra.Command {
	var limit int
	cmd := s.command("sweep", func(ctx context.Context, _ []string) (*answer, error) {
		if limit < 1 {
			return nil, usage("--limit is %d; it must be at least 1", limit)
		}
		return s.withRegistry(ctx, func(registry *dibs.Registry) (*answer, error) {
			return converted(wire.SweepReportOf, (*printer).sweep)(registry.Sweep(ctx, limit))
		})
	})
	cmd.Flags().IntVar(&limit, "limit", 1000, "how many records at most")
	return cmd
}

func (p *printer) sweep(r dibs.SweepReport) {
	p.fields(
		[2]string{"looked at", strconv.Itoa(r.Looked)},
		[2]string{"changed", strconv.Itoa(r.Changed)},
		[2]string{"suspects", strconv.Itoa(r.Suspects)},
		[2]string{"settled", strconv.Itoa(r.Settled)},
		[2]string{"took", r.Took.String()},
	)
	if r.More {
		p.line("The limit was reached: there may be more records.")
	}
}

func (s *session) recanonicalize() *cobra.Command {
	var dryRun, yes bool
	cmd := s.onRegistry("recanonicalize", func(ctx context.Context, registry *dibs.Registry, args []string) (*answer, error) {
		request := dibs.RecanonicalizeRequest{Namespace: args[0], DryRun: dryRun, Progress: s.progress()}
		if !dryRun && !yes {
			if err := s.askFirst(ctx, registry, request); err != nil {
				return nil, err
			}
		}
		report, err := registry.Recanonicalize(ctx, request)
		return recanonicalized(report, dryRun), err
	})
	cmd.PreRun = func(*cobra.Command, []string) { s.flags.newRules = true }
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be done, without doing it")
	yesVar(cmd, &yes)
	return cmd
}

// askFirst shows what would be done and asks for confirmation.
func (s *session) askFirst(ctx context.Context, registry *dibs.Registry, request dibs.RecanonicalizeRequest) error {
	request.DryRun = true
	plan, err := registry.Recanonicalize(ctx, request)
	if err != nil {
		return err
	}
	if upToDate(plan) {
		return nil
	}
	return s.confirmed(summary(plan))
}

// yesVar adds the flag --yes of a command that asks.
func yesVar(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVar(yes, "yes", false, "do not ask for confirmation")
}

// sure asks before something is destroyed, but only on a terminal: in a script the question would go unanswered.
func (s *session) sure(yes bool, plan string) error {
	if yes || !s.interactive() {
		return nil
	}
	return s.confirmed(plan)
}

// confirmed shows a plan and asks for confirmation.
func (s *session) confirmed(plan string) error {
	fmt.Fprintf(s.Stderr, "%s\nContinue? [y/N] ", clean(plan))
	line, _ := bufio.NewReader(s.Stdin).ReadString('\n')
	fmt.Fprintln(s.Stderr)
	if reply := strings.ToLower(strings.TrimSpace(line)); reply != "y" && reply != "yes" {
		return usage("nothing was changed: answer y, or use --yes")
	}
	return nil
}

// progress returns a function that reports to stderr, at most once a second.
func (s *session) progress() func(done, total int) {
	last := s.Now()
	return func(done, total int) {
		if now := s.Now(); now.Sub(last) >= time.Second {
			last = now
			fmt.Fprintf(s.Stderr, "%d of %d names\n", done, total)
		}
	}
}

func recanonicalized(r dibs.Recanonicalization, dryRun bool) *answer {
	document := struct {
		wire.Recanonicalization
		DryRun bool `json:"dryRun"`
	}{wire.RecanonicalizationOf(r), dryRun}
	rows := wire.ListOf(r.Findings, func(f dibs.Finding) []string {
		with := ""
		if f.With != nil {
			with = f.With.Key() + " " + owner(f.With.Entity)
		}
		return []string{string(f.Kind), f.Name.Key(), owner(f.Name.Entity), f.To, with, f.Why}
	})
	return &answer{document, func(p *printer) {
		if len(rows) > 0 {
			p.table([]string{"finding", "name", "entity", "becomes", "same as", "why"}, rows)
			p.line("")
		}
		if upToDate(r) || dryRun {
			p.line("%s", summary(r))
		} else {
			p.line("%s; %d done", summary(r), r.Done)
		}
	}}
}

// upToDate reports whether there is nothing to do.
func upToDate(r dibs.Recanonicalization) bool { return r.From == r.To && len(r.Counts) == 0 }

// summary describes a report in one line.
func summary(r dibs.Recanonicalization) string {
	if upToDate(r) {
		return fmt.Sprintf("%s: all names already follow %s", r.Namespace, r.To)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: from %s to %s, %s checked", r.Namespace, cmp.Or(r.From, "unrecorded rules"), r.To, count(r.Looked, "name", "names"))
	for _, kind := range slices.Sorted(maps.Keys(r.Counts)) {
		fmt.Fprintf(&b, ", %s %d", kind, r.Counts[kind])
	}
	return b.String()
}

func (s *session) forget() *cobra.Command {
	var (
		name, scope string
		entity      dibs.Entity
		dryRun, yes bool
		scrub       bool
	)
	cmd := s.onRegistry("forget", func(ctx context.Context, registry *dibs.Registry, _ []string) (*answer, error) {
		request, err := s.forgetRequest(name, yes || dryRun)
		if err != nil {
			return nil, err
		}
		request.Scope, request.Entity, request.DryRun, request.Scrub = scope, entity, dryRun, scrub
		if !dryRun && !yes {
			if err := s.askToForget(ctx, registry, request); err != nil {
				return nil, err
			}
		}
		report, err := registry.Forget(ctx, request)
		if err == nil && report.Unknown {
			err = unknown(request)
		}
		if err != nil {
			return nil, err
		}
		return forgotten(report, dryRun), nil
	})
	entityVar(cmd, &entity, "entity", "the person, or the owner of the name")
	scopeVar(cmd, &scope)
	cmd.Flags().StringVar(&name, "name", "", "one `namespace:value` to forget")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be erased, without doing it")
	yesVar(cmd, &yes)
	cmd.Flags().BoolVar(&scrub, "scrub", false, "rewrite the database file, so that it has no traces; SQLite only")
	cmd.MarkFlagsOneRequired("entity", "name")
	return cmd
}

// forgetRequest parses --name. The value can be read from stdin only if silent: otherwise the
// confirmation reads stdin.
func (s *session) forgetRequest(name string, silent bool) (dibs.ForgetRequest, error) {
	if name == "" {
		return dibs.ForgetRequest{}, nil
	}
	namespace, value, ok := strings.Cut(name, ":")
	switch {
	case !ok || namespace == "" || value == "":
		return dibs.ForgetRequest{}, usage("write --name as namespace:value, such as email:alice@example.com")
	case value == "-" && !silent:
		return dibs.ForgetRequest{}, usage("a value of - is read from stdin, which the confirmation needs: add --yes or --dry-run")
	case value == "-":
		values, err := s.readValues(false)
		if err != nil {
			return dibs.ForgetRequest{}, err
		}
		value = values[0]
	}
	return dibs.ForgetRequest{Namespace: namespace, Value: value}, nil
}

// askToForget shows what would be erased and asks for confirmation.
func (s *session) askToForget(ctx context.Context, registry *dibs.Registry, request dibs.ForgetRequest) error {
	request.DryRun = true
	plan, err := registry.Forget(ctx, request)
	if err != nil || plan.Replayed {
		return err
	}
	lines := []string{"This cannot be undone:"}
	for _, n := range plan.Erased {
		lines = append(lines, "  erase "+n.Key())
	}
	for _, n := range plan.Redacted {
		lines = append(lines, "  redact the history of "+n.Key())
	}
	if request.Namespace == "" {
		lines = append(lines, "  erase the entity "+request.Entity.String())
	}
	return s.confirmed(strings.Join(lines, "\n"))
}

// unknown returns the error for a person or a name of which there is no trace. For the registry there
// was nothing to do; but a caller that wants a person erased must learn of a misspelling.
func unknown(r dibs.ForgetRequest) error {
	if r.Namespace != "" {
		return &dibs.Error{Code: dibs.CodeNotFound, Message: fmt.Sprintf(
			"there is no such name in %s, and no tombstone of one: nothing was erased", r.Namespace)}
	}
	where := "outside of any scope (--scope gives one)"
	if r.Scope != "" {
		where = "in the scope " + r.Scope
	}
	return &dibs.Error{Code: dibs.CodeEntityNotFound, Message: fmt.Sprintf(
		"there is no %s %s, and none was forgotten in the last 30 days: nothing was erased", r.Entity, where)}
}

func forgotten(r dibs.Forgetting, dryRun bool) *answer {
	var rows [][]string
	for _, n := range r.Erased {
		rows = append(rows, []string{"erased", n.Key(), string(n.State), date(n.Until)})
	}
	for _, n := range r.Redacted {
		rows = append(rows, []string{"redacted", n.Key(), string(n.State), date(n.Until)})
	}
	document := struct {
		wire.Forgetting
		DryRun bool `json:"dryRun"`
	}{wire.ForgettingOf(r), dryRun}
	return &answer{document, func(p *printer) {
		if len(rows) > 0 {
			p.table([]string{"what", "name", "state", "until"}, rows)
			p.line("")
		}
		switch {
		case r.Replayed:
			p.line("Nothing to forget: it was forgotten before.")
		case dryRun:
			p.line("Dry run: nothing was erased.")
		default:
			p.line("%s erased, the history of %s redacted.", count(len(r.Erased), "name", "names"), count(len(r.Redacted), "other", "others"))
		}
	}}
}

func (s *session) backup() *cobra.Command {
	return s.command("backup", func(ctx context.Context, args []string) (_ *answer, err error) {
		target, err := s.target()
		if err != nil {
			return nil, err
		}
		file, found := strings.CutPrefix(target.Store, "sqlite:")
		if !found {
			return nil, usage("only SQLite can be backed up this way: use --store sqlite:FILE; " +
				"for PostgreSQL use pg_dump or pg_basebackup, for etcd etcdctl snapshot save")
		}
		if _, err := os.Stat(file); err != nil {
			return nil, usage("no store to copy: %w", err) // Open would create an empty store
		}
		// Routes do not matter: a backup copies one store.
		store, err := sqlitestore.Open(ctx, file, sqlitestore.Config{})
		if err != nil {
			return nil, err
		}
		defer s.close(store, &err)
		if err := store.Backup(ctx, args[0]); err != nil {
			return nil, err
		}
		info, err := os.Stat(args[0])
		if err != nil {
			return nil, err
		}
		return &answer{map[string]any{"file": args[0], "bytes": info.Size()}, func(p *printer) {
			p.line("The backup is %s, %d bytes.", args[0], info.Size())
		}}, nil
	})
}
