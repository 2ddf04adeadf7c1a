package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsimport"
	"github.com/calldibs/dibs/internal/engine"
	"github.com/calldibs/dibs/internal/sqlsource"
	"github.com/calldibs/dibs/internal/wire"
)

// importing is one run of "dibs import".
type importing struct {
	session *session
	file    string // - for stdin
	format  string
	from    string // a database in place of the file
	query   string
	dryRun  bool
	lost    string // the file for rows that are not imported
	options dibsimport.Options

	kept     *dibsimport.Kept // the rows of the query, if it was made for a plan
	begun    bool             // rows may have been imported
	progress progress
	examples []dibsimport.Lost // the first rows that are not imported, for the terminal
	numbered [][]string        // the first rows that got a number
}

// maxExamples is how many rows that were not imported a terminal shows.
const maxExamples = 20

func (s *session) importCommand() *cobra.Command {
	i := &importing{session: s}
	cmd := s.command("import", func(ctx context.Context, args []string) (*answer, error) {
		i.file = strings.Join(args, "")
		return i.run(ctx)
	})
	flags := cmd.Flags()
	mappingVar(flags, &i.options.Mapping)
	flags.BoolVar(&i.options.Mapping.OverrideReserved, "override-reserved", false, "import reserved words too")
	flags.StringVar(&i.format, "format", "", "csv, tsv or jsonl (default: by the file's `ending`)")
	flags.StringVar(&i.from, "from", "", "read from this `database`: postgres://…, mysql://… or sqlite:file")
	flags.StringVar(&i.query, "query", "", "the `SQL` query on --from, with an ORDER BY")
	flags.StringVar((*string)(&i.options.OnConflict), "on-conflict", string(dibsimport.Fail), "what to do if a name is taken: fail, skip, first or suffix")
	flags.StringVar(&i.lost, "lost", "", "write rows that are not imported to this `file`, .csv or .jsonl, to be edited and imported again")
	flags.BoolVar(&i.dryRun, "dry-run", false, "show what would be done, without doing it")
	return cmd
}

// mappingVar adds the flags that say what the columns of a source mean.
func mappingVar(flags *pflag.FlagSet, m *dibsimport.Mapping) {
	flags.StringVar(&m.Namespace, "namespace", "", "the `namespace` of all names")
	flags.StringVar(&m.EntityType, "entity-type", "", "the `type` of all entities, such as user")
	flags.StringVar(&m.Value, "value", "", "the `column` with the name")
	flags.StringVar(&m.EntityID, "entity-id", "", "the `column` with the id of the owner")
	flags.StringVar(&m.NamespaceColumn, "namespace-column", "", "the `column` with the namespace")
	flags.StringVar(&m.EntityTypeColumn, "entity-type-column", "", "the `column` with the type of the owner")
	flags.StringVar(&m.AliasOf, "alias-of", "", "the `column` with the active name that an old name redirects to")
	flags.StringVar(&m.Archived, "archived", "", "the `column` that says whether the owner is archived")
	flags.StringVar(&m.Since, "since", "", "the `column` with the time at which the owner got the name")
}

func (i *importing) run(ctx context.Context) (*answer, error) {
	if err := i.check(); err != nil {
		return nil, err
	}
	target, err := i.session.target()
	if err == nil {
		err = i.keeps(target.Store)
	}
	if err != nil {
		return nil, err
	}
	if i.from == "" && i.file == "-" {
		remove, err := i.keepStdin()
		if err != nil {
			return nil, err
		}
		defer remove()
	}
	if i.dryRun && target.Store != "" && errors.Is(engine.MustExist(ctx, target.Store), engine.ErrNoStore) {
		target.Store = "mem:" // a plan leaves nothing behind
	}
	t, err := openImportTarget(ctx, i.session, target)
	if err != nil {
		return nil, err
	}
	for _, store := range t.routes {
		if err := i.keeps(store); err != nil {
			return nil, errors.Join(err, t.end(false))
		}
	}
	if target.Config == "" {
		i.tellRules(t)
	}
	report, err := i.planAndRun(ctx, t)
	i.progress.end()
	// What was entered stays, also after an error, except that an interrupted command ends at once.
	if closed := t.end(i.begun && ctx.Err() == nil); closed != nil || t.publish != nil && ctx.Err() != nil {
		i.begun, err = false, cmp.Or(err, closed)
	}
	_, unclear := errors.AsType[*dibsimport.MappingError](err)
	switch {
	case errors.Is(err, dibsimport.ErrRefused):
		return i.answer(report, true), exitError{ExitTaken}
	case unclear:
		return nil, usage("%w: name them with flags, see dibs import --help", err)
	case err != nil && i.begun:
		return nil, fmt.Errorf("%w\nRows before that are imported: mend the cause, and run the command again to go on", err)
	case err != nil:
		return nil, err
	case !report.Complete():
		return i.answer(report, i.dryRun), exitError{ExitTaken}
	}
	return i.answer(report, i.dryRun), nil
}

// tellRules says which rules decide, if no configuration does: the wrong ones make two names one, and
// servers with others refuse to start.
func (i *importing) tellRules(t *importTarget) {
	policy, err := t.registry.Policy(i.options.Mapping.Namespace)
	switch {
	case i.session.json || errors.Is(err, dibs.ErrUnsupported): // a server has its own
	case err != nil: // the namespaces are in a column
		fmt.Fprintln(i.session.Stderr, "Without --config names follow the default rules. Servers must have the same.")
	default:
		fmt.Fprintf(i.session.Stderr, "Without --config %s follows the default rules, %s. Servers must have the same.\n",
			clean(i.options.Mapping.Namespace), policy.Profile.Name())
	}
}

func (i *importing) check() error {
	switch {
	case (i.file == "") == (i.from == ""):
		return usage("import from a FILE, from - for stdin, or from a database with --from and --query")
	case (i.from == "") != (i.query == ""):
		return usage("--from and --query belong together")
	case !slices.Contains([]dibsimport.OnConflict{dibsimport.First, dibsimport.Suffix, dibsimport.Skip, dibsimport.Fail}, i.options.OnConflict):
		return usage("--on-conflict is %q: use fail, skip, first or suffix", i.options.OnConflict)
	}
	if i.from == "" {
		i.format = cmp.Or(i.format, strings.TrimPrefix(filepath.Ext(i.file), "."))
		if !slices.Contains([]string{"csv", "tsv", "jsonl", "ndjson"}, i.format) {
			return usage("what is in %s? Use --format csv, tsv or jsonl", i.file)
		}
	}
	return errors.Join(i.keeps(i.file), i.keeps(i.from))
}

// keeps returns an error if --lost would overwrite a file, or that of an SQLite address.
func (i *importing) keeps(file string) error {
	file = strings.TrimPrefix(file, "sqlite:")
	if sameFile(file, i.lost) {
		return usage("--lost would overwrite %s: give another file", file)
	}
	return nil
}

// sameFile reports whether two paths lead to one file that exists.
func sameFile(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// planAndRun makes a plan if that is wanted or needed, and then imports.
func (i *importing) planAndRun(ctx context.Context, t *importTarget) (report dibsimport.Report, err error) {
	if i.dryRun || i.options.OnConflict == dibsimport.Fail || i.options.OnConflict == dibsimport.Skip {
		if i.from != "" && !i.dryRun {
			if err := i.keepQuery(ctx); err != nil {
				return report, err
			}
			defer i.kept.Close()
		}
		if report, err = i.plan(ctx, t); err != nil || i.dryRun {
			return report, err
		}
		plan := report
		i.options.Plan = &plan
		if i.options.OnConflict == dibsimport.Fail && !plan.Complete() {
			return plan, dibsimport.ErrRefused
		}
		i.examples, i.numbered = nil, nil
	}
	return i.each(ctx, "importing", i.newLostFile(true), func(source dibsimport.Source, o dibsimport.Options) (dibsimport.Report, error) {
		i.begun = true
		return dibsimport.Run(ctx, t.registry, source, o)
	})
}

func (i *importing) plan(ctx context.Context, t *importTarget) (dibsimport.Report, error) {
	scratch, err := t.scratch()
	if err != nil {
		return dibsimport.Report{}, err
	}
	defer func() { _ = scratch.Close() }() // before the import begins, which needs the memory
	writer := i.newLostFile(i.dryRun || i.options.OnConflict == dibsimport.Fail)
	return i.each(ctx, "checking", writer, func(source dibsimport.Source, o dibsimport.Options) (dibsimport.Report, error) {
		return dibsimport.Plan(ctx, scratch, source, o)
	})
}

// each opens the source and reads all of it.
func (i *importing) each(
	ctx context.Context, what string, lost *lostFile, do func(dibsimport.Source, dibsimport.Options) (dibsimport.Report, error),
) (report dibsimport.Report, err error) {
	source, size, closeSource, err := i.open(ctx)
	if err != nil {
		return report, err
	}
	defer func() { _ = closeSource() }()
	options := i.options
	options.Lost = func(l dibsimport.Lost) error {
		if len(i.examples) < maxExamples {
			i.examples = append(i.examples, l)
		}
		return errors.Join(i.event("lost", lostOf(l)), lost.write(l))
	}
	options.Suffixed = func(row dibsimport.Row, wanted string) error {
		if len(i.numbered) < maxExamples {
			i.numbered = append(i.numbered, []string{row.Where, row.Namespace, wanted, row.Entity.String(), "is " + row.Value})
		}
		return i.event("suffixed", suffixedRow{row.Where, row.Namespace, wanted, row.Value, row.Entity.String()})
	}
	i.progress.begin(i.session, what, size)
	options.Progress = i.progress.tell
	report, err = do(source, options)
	return report, errors.Join(err, lost.close(source.Columns()))
}

// open opens the source. Size tells how much of it was read.
func (i *importing) open(ctx context.Context) (_ dibsimport.Source, size *measuredFile, closeSource func() error, err error) {
	if i.kept != nil {
		return i.kept.Source(), nil, func() error { return nil }, nil
	}
	if i.from != "" {
		db, err := sqlsource.Open(i.from)
		if err != nil {
			return nil, nil, nil, usage("--from: %w", err)
		}
		rows, err := dibsimport.Query(ctx, db, i.query)
		if err != nil {
			return nil, nil, nil, errors.Join(fmt.Errorf("the query: %w", err), db.Close())
		}
		return rows, nil, func() error { return errors.Join(rows.Close(), db.Close()) }, nil
	}
	file, err := os.Open(i.file)
	if err != nil {
		return nil, nil, nil, usage("%w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, nil, nil, err
	}
	size = &measuredFile{Reader: file, size: info.Size()}
	switch i.format {
	case "csv":
		return dibsimport.CSV(size), size, file.Close, nil
	case "tsv":
		return dibsimport.TSV(size), size, file.Close, nil
	default:
		return dibsimport.JSONLines(size), size, file.Close, nil
	}
}

// keepQuery keeps the rows of the query: a second one could have others, and the import would not be what was
// planned.
func (i *importing) keepQuery(ctx context.Context) error {
	source, _, closeSource, err := i.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = closeSource() }()
	i.kept, err = dibsimport.Keep(source)
	return err
}

// keepStdin copies stdin to a temporary file: a plan reads it first, and then the import.
func (i *importing) keepStdin() (remove func(), err error) {
	end := new(lastByte)
	kept, remove, err := keepInput(io.TeeReader(i.session.Stdin, end))
	if err != nil {
		return nil, err
	}
	if cut := *end != '\n' && *end != 0; cut && i.format != "jsonl" && i.format != "ndjson" { // half an object is no object
		remove()
		return nil, usage("stdin ends in the middle of a line, so the program that writes it may have failed; nothing was imported. End the last line with a newline")
	}
	i.file = kept
	return remove, nil
}

// lastByte is the last byte that was written; 0 if there was none.
type lastByte byte

func (l *lastByte) Write(p []byte) (int, error) {
	if len(p) > 0 {
		*l = lastByte(p[len(p)-1])
	}
	return len(p), nil
}

// event writes an event for programs.
func (i *importing) event(kind string, detail any) error {
	if !i.session.json {
		return nil
	}
	return i.session.encode(struct {
		Event  string `json:"event"`
		Detail any    `json:"detail"`
	}{kind, detail}, "")
}

// lostRow is a row that was not imported, for programs and people.
type lostRow struct {
	Where   string            `json:"where"`
	Other   string            `json:"other,omitempty"`
	Fields  map[string]string `json:"fields"`
	Problem *wire.Problem     `json:"problem"`
}

func lostOf(l dibsimport.Lost) lostRow {
	return lostRow{l.Where, l.Other, l.Fields, wire.ProblemOf(l.Err)}
}

// suffixedRow is a row that got a number, for programs.
type suffixedRow struct {
	Where     string `json:"where"`
	Namespace string `json:"namespace"`
	Wanted    string `json:"wanted"`
	Value     string `json:"value"`
	Entity    string `json:"entity"`
}

// problemText says why a row was not imported.
func problemText(l dibsimport.Lost) string {
	if l.Other != "" {
		return "the same name as " + l.Other
	}
	return l.Err.Message
}

func (i *importing) summary(r dibsimport.Report) string {
	parts := []string{count(r.Rows, "row", "rows") + " read", thousands(r.Imported) + " imported"}
	for _, more := range []struct {
		n    int
		text string
	}{{r.Unchanged, "unchanged"}, {r.Lost, "not imported"}} {
		if more.n > 0 {
			parts = append(parts, thousands(more.n)+" "+more.text)
		}
	}
	text := strings.Join(parts, ", ")
	if r.Suffixed > 0 {
		text += "; " + thousands(r.Suffixed) + " of them with a number"
	}
	if r.Archived > 0 {
		text += "; " + count(r.Archived, "entity", "entities") + " archived"
	}
	return text
}

// answer returns the report; planned says that nothing was imported. With --json it is the last event.
func (i *importing) answer(r dibsimport.Report, planned bool) *answer {
	if i.session.json {
		event := "done"
		if planned {
			event = "planned"
		}
		_ = i.event(event, r)
		return nil
	}
	return &answer{text: func(p *printer) {
		rows := make([][]string, len(i.examples))
		for n, l := range i.examples {
			rows[n] = []string{l.Where, l.Namespace, l.Value, l.Entity.String(), problemText(l)}
		}
		if len(rows) > 0 {
			p.table([]string{"where", "namespace", "value", "entity", "problem"}, rows)
			if more := r.Lost - len(rows); more > 0 {
				p.line("… and %s more: --lost FILE writes all of them", thousands(more))
			}
			p.line("")
		}
		if len(i.numbered) > 0 {
			p.table([]string{"where", "namespace", "wanted", "entity", "with a number"}, i.numbered)
			if more := r.Suffixed - len(i.numbered); more > 0 {
				p.line("… and %s more: --json tells all of them", thousands(more))
			}
			p.line("")
		}
		switch {
		case planned && r.Complete():
			p.line("Dry run: all of %s can be imported. Nothing was changed.", count(r.Rows, "row", "rows"))
		case planned:
			p.line("%s of %s can be imported, %s cannot. Nothing was changed.",
				thousands(r.Imported+r.Unchanged), count(r.Rows, "row", "rows"), thousands(r.Lost))
			for _, line := range i.advice() {
				p.line("%s", line)
			}
		case r.Imported+r.Archived == 0:
			p.line("%s: nothing has changed.", i.summary(r))
		default:
			p.line("%s.", i.summary(r))
		}
	}}
}

// advice says what can be done about the rows of a plan that cannot be imported.
func (i *importing) advice() (lines []string) {
	taken := func(l dibsimport.Lost) bool { return l.Err.Code == dibs.CodeNameTaken }
	similar := func(l dibsimport.Lost) bool { return l.Err.Reason == dibs.ReasonConfusable }
	mixed := func(l dibsimport.Lost) bool { return l.Err.Refusal != nil && l.Err.Refusal.Rule == "mixed_scripts" }
	reserved := func(l dibsimport.Lost) bool { return l.Err.Code == dibs.CodeReservedWord }
	advice := "Mend these rows in the source"
	if slices.ContainsFunc(i.examples, taken) && i.options.OnConflict == dibsimport.Fail {
		advice += ", or say who gets a name that is taken: --on-conflict first, suffix or skip"
	}
	if slices.ContainsFunc(i.examples, reserved) {
		advice += ", or take reserved words too: --override-reserved"
	}
	lines = append(lines, advice+".")
	if slices.ContainsFunc(i.examples, similar) {
		lines = append(lines, "To let people keep names that look alike: confusables = false in the configuration, see docs/adopting.md.")
	}
	if slices.ContainsFunc(i.examples, mixed) {
		lines = append(lines, "To let people keep names of mixed scripts: oneScript = false in the configuration, see docs/adopting.md.")
	}
	return lines
}

// importTarget is where names are imported to: a store or a server.
type importTarget struct {
	registry *dibs.Registry
	scratch  func() (*dibsimport.Scratch, error)
	routes   []string // the addresses of stores besides the first
	publish  func()   // if the store is a new file, which no other process sees before that; else nil
}

// end closes the target. A new file is published, or removed.
func (t *importTarget) end(publish bool) error {
	if publish && t.publish != nil {
		t.publish()
	}
	return t.registry.Close()
}

func openImportTarget(ctx context.Context, s *session, target Target) (*importTarget, error) {
	if target.Server != "" {
		registry, err := s.Open(ctx, target)
		if err != nil {
			return nil, err
		}
		return &importTarget{registry: registry, scratch: func() (*dibsimport.Scratch, error) { return dibsimport.ScratchOfServer(registry) }}, nil
	}
	t := new(importTarget)
	cfg, store, registry, err := fillStore(ctx, target, func(publish func()) { t.publish = publish })
	if err != nil {
		return nil, err
	}
	t.registry = registry.As(operator)
	for _, r := range cfg.Routes {
		t.routes = append(t.routes, r.Store)
	}
	t.scratch = func() (*dibsimport.Scratch, error) { return dibsimport.ScratchOf(store, cfg.Dibs()) }
	return t, nil
}
