package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

func (s *session) sweep() *cobra.Command {
	var limit int
	cmd := s.command(verb{
		name: "sweep", group: groupOperate,
		short: "Record expired holds, purge old records, and ask the witnesses about suspects",
		long: `A name is free the instant its hold ends, without a sweep. A sweep brings records and
history up to date. A server sweeps in the background.`,
		example: "dibs sweep --limit 10000",
		before: func([]string) error {
			if limit < 1 {
				return usage("--limit is %d; it must be at least 1", limit)
			}
			return nil
		},
		do: func(ctx context.Context, registry *dibs.Registry, _ []string) (*answer, error) {
			return converted(wire.SweepReportOf, (*printer).sweep)(registry.Sweep(ctx, limit))
		},
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

func (s *session) settle() *cobra.Command {
	var (
		exists dibs.Entity
		absent bool
		id     dibs.ID
	)
	cmd := s.command(verb{
		name: "settle", args: []string{"ID"}, group: groupOperate,
		short: "End a suspect by an operator's decision",
		long: `A suspect is an expired hold for which it is unknown whether its entity was saved.
--exists makes that entity the owner; --absent frees the name: use it only if the
entity can no longer appear.`,
		example: `
dibs suspects
dibs settle res_… --exists wedding/42
dibs settle res_… --absent`,
		before: func(args []string) (err error) {
			if exists.IsZero() != absent {
				return usage("use one of --exists type/id and --absent")
			}
			id, err = dibs.ParseID(args[0])
			return err
		},
		do: func(ctx context.Context, registry *dibs.Registry, _ []string) (*answer, error) {
			verdict := dibs.Exists(exists)
			if absent {
				verdict = dibs.Absent
			}
			return applied(ctx, registry, dibs.Settle{ID: id, Verdict: verdict}, oneName)
		},
	})
	entityVar(cmd, &exists, "exists", "the entity that was saved")
	cmd.Flags().BoolVar(&absent, "absent", false, "the entity was not saved, and never will be")
	return cmd
}

func (s *session) rekey() *cobra.Command {
	return s.command(verb{
		name: "rekey", args: []string{"NAMESPACE", "VALUE"}, group: groupOperate,
		short: "Index a name of a blind namespace by its newest key",
		long: `The registry does not store the value: take it from elsewhere, such as a user table.
Keep values of blind namespaces out of the shell's history: use - to read them from
stdin.`,
		example: "psql -Atc 'SELECT email FROM users' | while read -r email; do printf %s \"$email\" | dibs rekey email -; done",
		do: func(ctx context.Context, registry *dibs.Registry, args []string) (*answer, error) {
			return applied(ctx, registry, dibs.Rekey{Namespace: args[0], Value: args[1]}, oneName)
		},
	})
}
