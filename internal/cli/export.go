package cli

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/durable"
	"github.com/calldibs/dibs/internal/wire"
)

// exporting is one run of "dibs export".
type exporting struct {
	session    *session
	format     string
	query      dibs.NamesQuery
	entityType string
	archived   string // yes, no or empty

	exported int
	orphans  int // aliases that lead nowhere
	progress progress
}

func (s *session) exportCommand() *cobra.Command {
	x := &exporting{session: s}
	cmd := s.command("export", func(ctx context.Context, args []string) (*answer, error) {
		return x.run(ctx, cmp.Or(strings.Join(args, ""), "-"))
	})
	flags := cmd.Flags()
	s.namespaceVar(cmd, &x.query.Namespace, "only names of this `namespace`")
	flags.StringVar((*string)(&x.query.State), "state", "", "only names in this `state` (default: active and alias)")
	flags.StringVar(&x.query.Prefix, "prefix", "", "only names whose canonical form begins with this `text`")
	flags.StringVar(&x.entityType, "entity-type", "", "only names of owners of this `type`")
	flags.StringVar(&x.archived, "archived", "", "only names of archived owners (`yes`), or of all others (no)")
	flags.StringVar(&x.format, "format", "", "csv, tsv or jsonl (default: by the file's `ending`; csv to stdout)")
	must(cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(states, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

func (x *exporting) check(file string) error {
	if x.format == "" && file != "-" {
		x.format = strings.TrimPrefix(filepath.Ext(file), ".")
	}
	x.format = cmp.Or(x.format, "csv")
	switch {
	case !slices.Contains([]string{"csv", "tsv", "jsonl", "ndjson"}, x.format):
		return usage("in which format? Use --format csv, tsv or jsonl")
	case x.query.State != "" && !slices.Contains(states, string(x.query.State)):
		return usage("unknown state %q: use one of %s", x.query.State, join(states))
	case x.archived != "" && x.archived != "yes" && x.archived != "no":
		return usage("--archived is %q: use yes or no", x.archived)
	case x.session.json && file == "-":
		return usage("--json is for what the command says: give a FILE for the names, or use --format jsonl without --json")
	}
	return nil
}

func (x *exporting) run(ctx context.Context, file string) (*answer, error) {
	if err := x.check(file); err != nil {
		return nil, err
	}
	answer, err := x.session.withRegistry(ctx, func(registry *dibs.Registry) (*answer, error) {
		x.progress.begin(x.session, "exporting", nil)
		defer x.progress.end()
		return nil, x.session.writeFile(file, func(w io.Writer) error { return x.write(ctx, registry, w) })
	})
	if err != nil {
		return answer, err
	}
	return x.said(file), nil
}

// said says what was done: on stderr if the names went to stdout.
func (x *exporting) said(file string) *answer {
	text := fmt.Sprintf("%s exported.", count(x.exported, "name", "names"))
	if x.orphans > 0 {
		text += fmt.Sprintf(" %s left out: the owner has no active name there, or is archived and has several, and it is unknown which one is meant.",
			count(x.orphans, "alias was", "aliases were"))
	}
	if file == "-" {
		fmt.Fprintln(x.session.Stderr, text)
		return nil
	}
	return &answer{map[string]any{"file": file, "names": x.exported, "leftOut": x.orphans}, func(p *printer) { p.line("%s", text) }}
}

// exported is a name in the columns that "dibs import" finds by itself.
type exportedName struct {
	Namespace  string `json:"namespace"`
	Value      string `json:"value"`
	EntityType string `json:"entity_type,omitempty"`
	EntityID   string `json:"entity_id,omitempty"`
	AliasOf    string `json:"alias_of,omitempty"`
	Archived   bool   `json:"archived,omitempty"`
	Since      string `json:"since,omitempty"`
	State      string `json:"state"`
}

var exportColumns = []string{"namespace", "value", "entity_type", "entity_id", "alias_of", "archived", "since", "state"}

func (n *exportedName) columns() []string {
	archived := ""
	if n.Archived {
		archived = "true"
	}
	return []string{n.Namespace, n.Value, n.EntityType, n.EntityID, n.AliasOf, archived, n.Since, n.State}
}

// write writes all names that are selected, page by page.
func (x *exporting) write(ctx context.Context, registry *dibs.Registry, w io.Writer) error {
	var put func(exportedName) error
	finish := func() error { return nil }
	if strings.HasPrefix(x.format, "csv") || x.format == "tsv" {
		rows := csv.NewWriter(w)
		if x.format == "tsv" {
			rows.Comma = '\t'
		}
		if err := rows.Write(exportColumns); err != nil {
			return err
		}
		put = func(n exportedName) error { return rows.Write(n.columns()) }
		finish = func() error {
			rows.Flush()
			return rows.Error()
		}
	} else {
		objects := json.NewEncoder(w)
		objects.SetEscapeHTML(false)
		put = func(n exportedName) error { return objects.Encode(n) }
	}
	query := x.query
	query.Limit = 1000
	for {
		page, err := registry.List(ctx, query)
		if err != nil {
			return err
		}
		if err := x.writePage(ctx, registry, page.Names, put); err != nil {
			return err
		}
		if x.progress.show(x.exported, "names", map[string]int{"names": x.exported}); page.Next == "" {
			return finish()
		}
		query.Cursor = page.Next
	}
}

func (x *exporting) writePage(ctx context.Context, registry *dibs.Registry, names []dibs.Name, put func(exportedName) error) error {
	names = slices.DeleteFunc(names, func(n dibs.Name) bool { return !x.selects(n) })
	leads, err := leadsTo(ctx, registry, names)
	if err != nil {
		return err
	}
	for i, n := range names {
		if n.State == dibs.Alias && leads[i] == "" {
			x.orphans++
			continue
		}
		since := n.ConfirmedAt
		if since.IsZero() {
			since = n.CreatedAt
		}
		x.exported++
		if err := put(exportedName{
			Namespace: n.Namespace, Value: n.Value, EntityType: n.Entity.Type, EntityID: n.Entity.ID,
			AliasOf: leads[i], Archived: n.Archived, Since: wire.FormatTime(since), State: string(n.State),
		}); err != nil {
			return err
		}
	}
	return nil
}

func (x *exporting) selects(n dibs.Name) bool {
	switch {
	case x.query.State == "" && n.State != dibs.Active && n.State != dibs.Alias,
		x.entityType != "" && n.Entity.Type != x.entityType,
		x.archived != "" && n.Archived != (x.archived == "yes"),
		n.Value == "": // it was forgotten
		return false
	}
	return true
}

// aliasesAtOnce is how many aliases are resolved at once.
const aliasesAtOnce = 16

// leadsTo returns the active name that each alias of a page redirects to; empty for other names.
func leadsTo(ctx context.Context, registry *dibs.Registry, names []dibs.Name) ([]string, error) {
	leads, errs := make([]string, len(names)), make([]error, len(names))
	var asking sync.WaitGroup
	room := make(chan struct{}, aliasesAtOnce)
	for i, n := range names {
		if n.State != dibs.Alias {
			continue
		}
		room <- struct{}{}
		asking.Go(func() {
			leads[i], errs[i] = activeName(ctx, registry, n)
			<-room
		})
	}
	asking.Wait()
	return leads, errors.Join(errs...)
}

// activeName returns the name that an alias redirects to, or "" if that is unknown. The names of an archived owner
// do not resolve; if it has several in the namespace, the registry does not tell which of them is meant.
func activeName(ctx context.Context, registry *dibs.Registry, alias dibs.Name) (string, error) {
	if !alias.Archived {
		resolution, err := registry.Resolve(ctx, alias.Namespace, alias.Value)
		if err != nil || resolution.To == nil {
			return "", err
		}
		return resolution.To.Value, nil
	}
	owner, err := registry.Entity(ctx, dibs.ScopeOf(alias.Namespace), alias.Entity)
	active := slices.DeleteFunc(owner.Names, func(n dibs.Name) bool { return n.Namespace != alias.Namespace || n.State != dibs.Active })
	if err != nil || len(active) != 1 || owner.More {
		return "", err
	}
	return active[0].Value, nil
}

// writeFile writes a new file, or stdout for "-". The file has its name only when it is whole.
func (s *session) writeFile(path string, write func(io.Writer) error) error {
	if path == "-" {
		return write(s.Stdout)
	}
	if _, err := os.Lstat(path); err == nil {
		return usage("%s exists: remove it, or choose another name", path)
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return usage("%w", err)
	}
	err = write(file)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return err
	}
	return durable.Folder(filepath.Dir(path))
}
