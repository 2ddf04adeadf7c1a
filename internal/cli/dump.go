package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/archive"
	"github.com/calldibs/dibs/internal/engine"
	"github.com/calldibs/dibs/internal/snapshot"
)

func (s *session) dumpCommand() *cobra.Command {
	return s.command("dump", func(ctx context.Context, args []string) (_ *answer, err error) {
		file := args[0]
		if s.json && file == "-" {
			return nil, usage("--json is for what the command says: give a FILE for the archive")
		}
		store, err := s.openWhole(ctx, false)
		if err != nil {
			return nil, err
		}
		defer s.close(store, &err)
		view, err := snapshot.Take(ctx, store)
		if err != nil {
			return nil, err
		}
		defer func() { _ = view.Close() }()
		var p progress
		p.begin(s, "dumping", nil)
		defer p.end()
		var counts archive.Counts
		err = s.writeFile(file, func(w io.Writer) (err error) {
			lines := 0
			counts, err = archive.Dump(ctx, view, w, func(c archive.Counts) {
				if lines++; lines%showEvery == 0 {
					p.show(lines, "lines", c)
				}
			})
			return err
		})
		if err != nil {
			return nil, err
		}
		text := fmt.Sprintf("Dumped %s, as of %s.", countsText(counts), view.Now())
		if file == "-" {
			fmt.Fprintln(s.Stderr, text)
			return nil, nil
		}
		return &answer{struct {
			File string `json:"file"`
			archive.Counts
		}{file, counts}, func(p *printer) { p.line("%s", text) }}, nil
	})
}

// showEvery is after how many lines of an archive the progress is shown.
const showEvery = 1000

func countsText(c archive.Counts) string {
	return strings.Join([]string{
		count(c.Names, "name", "names"), count(c.Entities, "entity", "entities"),
		count(c.Events, "event", "events"), count(c.Documents, "document", "documents"),
	}, ", ")
}

// openWhole opens the store of the target with those of its routes, without a registry on it.
func (s *session) openWhole(ctx context.Context, incomplete bool) (dibs.Store, error) {
	target, err := s.storeTarget()
	if err != nil {
		return nil, err
	}
	cfg, err := loadConfig(target.Config)
	if err != nil {
		return nil, usage("%w", err)
	}
	layout := engine.Layout{Store: target.Store, Routes: cfg.Routes, Keep: true, Incomplete: incomplete}
	if err := target.mustExist(ctx, layout.Addresses()...); err != nil {
		return nil, err
	}
	return engine.OpenLayout(ctx, layout)
}

// loading is one run of "dibs load".
type loading struct {
	session  *session
	file     string
	cursors  string // the file for translated cursors
	progress progress
}

func (s *session) loadCommand() *cobra.Command {
	l := &loading{session: s}
	cmd := s.command("load", func(ctx context.Context, args []string) (*answer, error) {
		l.file = args[0]
		return l.run(ctx)
	})
	cmd.Flags().StringVar(&l.cursors, "cursors", "", "write the cursor of each event, in the archive and in the store, to this CSV `file`")
	return cmd
}

func (l *loading) run(ctx context.Context) (_ *answer, err error) {
	if l.file == "-" {
		kept, remove, err := keepInput(l.session.Stdin)
		if err != nil {
			return nil, err
		}
		defer remove()
		l.file = kept
	}
	if _, err := os.Stat(l.file); err != nil {
		return nil, usage("%w", err)
	}
	// Before a store is opened, which may create it.
	if err := l.check(ctx); err != nil {
		return nil, err
	}
	store, err := l.session.openWhole(ctx, true)
	if err != nil {
		return nil, err
	}
	defer l.session.close(store, &err)
	defer l.progress.end()
	summary, err := l.load(ctx, store)
	switch {
	case errors.Is(err, snapshot.ErrNotEmpty), errors.Is(err, snapshot.ErrOtherSource):
		return nil, fmt.Errorf("%w: load into an empty store", err)
	case errors.Is(err, archive.ErrArchive):
		return nil, usage("%s: %w", l.file, err)
	case err != nil:
		return nil, fmt.Errorf("%w\nThe store is not complete: run the command again to go on", err)
	}
	return &answer{summary.Counts, func(p *printer) {
		p.line("Loaded %s, as of %s. All of it was read again and compared.", countsText(summary.Counts), summary.At)
		if summary.Events > 0 {
			p.line("Events have new cursors here, and those of the archive are refused. Webhooks go on where they were;")
			p.line("other readers of the feed need the new cursor of their last event: see --cursors.")
		}
	}}, nil
}

func (l *loading) open() (io.ReadCloser, error) { return os.Open(l.file) }

// check reads the whole archive before the store is touched.
func (l *loading) check(ctx context.Context) error {
	file, err := l.open()
	if err != nil {
		return usage("%w", err)
	}
	defer func() { _ = file.Close() }()
	if _, err = archive.Check(ctx, file); errors.Is(err, archive.ErrArchive) {
		return usage("%s: %w", l.file, err)
	}
	return err
}

func (l *loading) load(ctx context.Context, store dibs.Store) (summary archive.Summary, err error) {
	options := archive.Options{
		Checked: func(s archive.Summary) {
			l.progress.begin(l.session, "loading", nil)
			l.progress.total = s.Names + s.Entities + s.Events + s.Documents
		},
		Progress: func(done int) {
			if done%showEvery == 0 {
				l.progress.show(done, "lines", map[string]int{"done": done})
			}
		},
	}
	run := func() (err error) {
		summary, err = archive.Load(ctx, l.open, store, options)
		return err
	}
	if l.cursors == "" {
		return summary, run()
	}
	err = l.session.writeFile(l.cursors, func(w io.Writer) error {
		buffered := bufio.NewWriter(w)
		options.Cursors = buffered
		return errors.Join(run(), buffered.Flush())
	})
	return summary, err
}

// keepInput copies stdin to a temporary file, which is read several times.
func keepInput(stdin io.Reader) (path string, remove func(), err error) {
	file, err := os.CreateTemp("", "dibs-*")
	if err == nil {
		_, err = io.Copy(file, stdin)
		remove = func() { _ = os.Remove(file.Name()) }
		if err = errors.Join(err, file.Close()); err != nil {
			remove()
		}
	}
	if err != nil {
		return "", nil, fmt.Errorf("keeping stdin in %s, and TMPDIR sets another folder: %w", os.TempDir(), err)
	}
	return file.Name(), remove, nil
}
