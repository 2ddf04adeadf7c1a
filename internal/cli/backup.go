package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs/sqlitestore"
)

func (s *session) backup() *cobra.Command {
	return &cobra.Command{
		Use:     "backup FILE",
		GroupID: groupOperate,
		Short:   "Copy an SQLite store into a new file, while it is in use",
		Long: `Copy an SQLite store into a new file, while it is in use.

The copy is a snapshot, and complete when the command ends. To restore it, replace the
store by it while no process has the store open. PostgreSQL and etcd have their own
backup tools: see docs/operations.md.`,
		Example: indent("dibs backup names-2026-03-01.db --store sqlite:dibs.db"),
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			done, err := s.backUp(cmd.Context(), args[0])
			s.print(done, err)
			return err
		},
	}
}

func (s *session) backUp(ctx context.Context, path string) (*answer, error) {
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
	err = store.Backup(ctx, path)
	if closing := store.Close(); closing != nil {
		fmt.Fprintf(s.Stderr, "dibs: closing: %v\n", closing)
	}
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	return &answer{map[string]any{"file": path, "bytes": info.Size()}, func(p *printer) {
		p.line("The backup is %s, %d bytes.", path, info.Size())
	}}, nil
}
