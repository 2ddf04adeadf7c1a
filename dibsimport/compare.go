package dibsimport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/extsort"
)

// DifferenceKind says how a source and a registry differ.
type DifferenceKind string

// The kinds of difference.
const (
	Missing       DifferenceKind = "missing"        // the registry does not have the name
	Invalid       DifferenceKind = "invalid"        // the registry does not accept the value, or the row cannot be read
	OtherOwner    DifferenceKind = "other_owner"    // the name has another owner in the registry
	OtherRole     DifferenceKind = "other_role"     // it is an alias in one and the active name in the other
	OtherArchived DifferenceKind = "other_archived" // its owner is archived in one of them
	Extra         DifferenceKind = "extra"          // the source does not have the name
)

// DifferenceKinds are all kinds, in the order of reports.
var DifferenceKinds = []DifferenceKind{Missing, OtherOwner, OtherRole, OtherArchived, Invalid, Extra}

// Difference is a name about which a source and a registry disagree.
type Difference struct {
	Kind DifferenceKind
	Row  Row         // what the source has; zero for an extra name
	Name dibs.Name   // what the registry has; zero if it has nothing
	Err  *dibs.Error // why the row cannot be imported as it is; nil if it can
}

// Comparison is what Compare found.
type Comparison struct {
	Rows        int                    `json:"rows"`  // of the source
	Names       int                    `json:"names"` // of the registry that were compared
	Same        int                    `json:"same"`  // rows that the registry has as they are
	Differences map[DifferenceKind]int `json:"differences,omitempty"`
	// Importable is how many of the missing names can be imported.
	Importable int `json:"importable,omitempty"`
	// Late is how many names the registry has since after the comparison began. They are not compared.
	Late int `json:"late,omitempty"`

	missing  spool // rows that can be imported
	archived spool // rows whose owners are to be archived or restored
}

// Count returns how many differences there are.
func (c *Comparison) Count() (n int) {
	for count := range maps.Values(c.Differences) {
		n += count
	}
	return n
}

// Close removes the temporary files of the comparison.
func (c *Comparison) Close() {
	c.missing.close()
	c.archived.close()
}

// CompareOptions are the options of Compare.
type CompareOptions struct {
	Mapping Mapping
	// Found is told of each difference. An error ends the comparison. Nil means that they are only
	// counted.
	Found func(Difference) error
	// Progress is told the comparison so far, after each batch. Nil means no one.
	Progress func(*Comparison)
	// Pause is called before each batch of rows or names, to slow the comparison down. Nil means that
	// it runs as fast as it can.
	Pause func(ctx context.Context, n int) error
}

// Compare compares the rows of a source with the names of a registry, through its verbs alone: the
// source first, then the registry. Names of the registry count as extra only in namespaces of the
// source and for types of entities that it has there; aliases only if the source has a column for
// them. It needs memory for the namespaces, not for the names. The caller closes the Comparison.
func Compare(ctx context.Context, registry *dibs.Registry, source Source, options CompareOptions) (*Comparison, error) {
	// Times of names are in milliseconds: those from before have an earlier one.
	began := time.Now().Truncate(time.Millisecond).Add(time.Millisecond)
	time.Sleep(time.Until(began))
	c := &comparer{
		CompareOptions: options, ctx: ctx, registry: registry, began: began,
		rows: rowReader{mapping: options.Mapping}, scopes: make(map[string]map[string]bool),
		result: &Comparison{Differences: make(map[DifferenceKind]int)},
	}
	defer func() { _ = errors.Join(c.keys.Close(), c.owners.Close()) }()
	err := c.readSource(source)
	if err == nil {
		err = c.readRegistry()
	}
	if err == nil {
		err = c.compareKeys()
	}
	if err == nil {
		err = c.compareOwners()
	}
	if err != nil {
		c.result.Close()
		return nil, err
	}
	return c.result, nil
}

type comparer struct {
	CompareOptions
	ctx      context.Context
	registry *dibs.Registry
	began    time.Time
	rows     rowReader
	aliases  bool                       // the source has aliases
	archives bool                       // the source says who is archived
	scopes   map[string]map[string]bool // the types of entities by namespace
	batch    []Row
	keys     extsort.Sorter // of names in the source and in the registry
	owners   extsort.Sorter // of these names, and those that the source says are archived
	result   *Comparison
}

func (c *comparer) readSource(source Source) error {
	for {
		record, err := source.Next()
		if errors.Is(err, io.EOF) {
			return c.flush()
		}
		if err != nil {
			return err
		}
		row, err := c.rows.read(source.Columns(), record)
		if err != nil {
			return err
		}
		c.result.Rows++
		if row.unreadable == nil {
			if err := c.note(row, record); err != nil {
				return err
			}
		}
		if c.batch = append(c.batch, row); len(c.batch) == batchSize {
			if err := c.flush(); err != nil {
				return err
			}
		}
	}
}

// note notes what a row says of the source.
func (c *comparer) note(row Row, record Record) error {
	c.aliases = c.aliases || c.rows.has(record, func(m Mapping) string { return m.AliasOf })
	c.archives = c.archives || c.rows.has(record, func(m Mapping) string { return m.Archived })
	types := c.scopes[row.Namespace]
	if types == nil {
		types = make(map[string]bool)
		c.scopes[row.Namespace] = types
	}
	types[row.Entity.Type] = true
	if row.Archived {
		return c.addOwner(row, archivedInSource, keyed{})
	}
	return nil
}

// has reports whether a record has a column of the mapping, with a value or without.
func (r *rowReader) has(record Record, column func(Mapping) string) bool {
	if r.resolved {
		return column(r.mapping) != ""
	}
	_, there := record.Fields[column(r.mapping.guess(r.columns))]
	return there
}

// pause slows the comparison down, and tells how far it is.
func (c *comparer) pause(n int) error {
	if c.Progress != nil {
		c.Progress(c.result)
	}
	if c.Pause != nil {
		return c.Pause(c.ctx, n)
	}
	return c.ctx.Err()
}

// flush asks the registry what an import of the rows would do.
func (c *comparer) flush() error {
	rows := c.batch
	c.batch = nil
	if err := c.pause(len(rows)); err != nil || len(rows) == 0 {
		return err
	}
	request := dibs.ImportRequest{DryRun: true}
	for _, row := range rows {
		if row.unreadable == nil {
			asked := row.Import
			asked.Since, asked.CorrelationID = time.Time{}, ""
			request.Imports = append(request.Imports, asked)
		}
	}
	var answers []dibs.Imported
	if len(request.Imports) > 0 {
		var err error
		if answers, err = c.registry.ImportAll(c.ctx, request); err != nil {
			return fmt.Errorf("%s to %s: %w", rows[0].Where, rows[len(rows)-1].Where, err)
		}
	}
	for _, row := range rows {
		answer := dibs.Imported{Err: row.unreadable}
		if row.unreadable == nil {
			answer, answers = answers[0], answers[1:]
		}
		if err := c.compareRow(row, answer); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparer) compareRow(row Row, answer dibs.Imported) error {
	switch {
	case row.unreadable != nil:
		return c.differ(Difference{Kind: Invalid, Row: row, Err: answer.Err})
	case answer.Err != nil:
		return c.compareRefused(row, answer.Err)
	case answer.Replayed:
		return c.same(row, answer.Name.ID)
	default:
		return c.importable(row)
	}
}

func (c *comparer) importable(row Row) error {
	c.result.Importable++
	return errors.Join(c.result.missing.add(row), c.differ(Difference{Kind: Missing, Row: row}))
}

// isFree reports whether the registry has no such name.
func (c *comparer) isFree(namespace, value string) (bool, error) {
	reserved, err := c.registry.IsReserved(c.ctx, namespace, value)
	if refused, ok := errors.AsType[*dibs.Error](err); ok && refused.Code == dibs.CodeInvalidValue {
		return false, nil
	}
	return !reserved, err
}

// compareRefused finds out what a row differs in that cannot be imported. It may be no difference: a
// name that its owner has already may be a reserved word by now.
func (c *comparer) compareRefused(row Row, refusal *dibs.Error) error {
	d := Difference{Kind: Missing, Row: row, Err: refusal}
	name, err := c.registry.Get(c.ctx, dibs.Lookup{Namespace: row.Namespace, Value: row.Value})
	refused, isRefused := errors.AsType[*dibs.Error](err)
	switch {
	case err != nil && (!isRefused || refused.Code == dibs.CodeUnavailable):
		return err
	case err != nil && (refusal.Code == dibs.CodeInvalidValue || refusal.Code == dibs.CodeInvalidNamespace || refusal.Code == dibs.CodeInvalidEntity):
		d.Kind = Invalid
		return c.differ(d)
	case err != nil && refusal.Code == dibs.CodeNotOwner && row.AliasOf != "":
		// An alias can be imported after its active name, if that is missing, too.
		free, err := c.isFree(row.Namespace, row.AliasOf)
		if err == nil && free {
			return c.importable(row)
		}
		return errors.Join(err, c.differ(d))
	case err != nil:
		return c.differ(d)
	}
	d.Name = name
	if name.State == dibs.Active || name.State == dibs.Alias {
		switch {
		case name.Entity != row.Entity:
			d.Kind = OtherOwner
		case (name.State == dibs.Alias) != (row.AliasOf != ""):
			d.Kind = OtherRole
		default:
			return c.same(row, name.ID)
		}
	}
	return errors.Join(c.addKey(name.ID, fromSource, keyed{}), c.differ(d))
}

func (c *comparer) same(row Row, id dibs.ID) error {
	c.result.Same++
	return c.addKey(id, fromSource, keyed{Row: Row{Record: Record{Where: row.Where}, Import: row.Import, Archived: row.Archived}})
}

func (c *comparer) differ(d Difference) error {
	c.result.Differences[d.Kind]++
	if c.Found == nil {
		return nil
	}
	return c.Found(d)
}

// Keys are sorted by the name's ID, those of the source first.
const (
	fromSource byte = iota
	fromRegistry
)

// keyed is what has to be known of a name in both.
type keyed struct {
	Row  Row
	Name dibs.Name
}

func (c *comparer) addKey(id dibs.ID, from byte, k keyed) error {
	content, err := json.Marshal(k)
	if err != nil {
		return err
	}
	return c.keys.Add(append(append(id[:], from), content...))
}

// maxListed is how many namespaces are listed one by one. If there are more, all names are listed.
const maxListed = 1000

// readRegistry lists the names that the source could have.
func (c *comparer) readRegistry() error {
	states := []dibs.State{dibs.Active}
	if c.aliases {
		states = append(states, dibs.Alias)
	}
	namespaces := slices.Sorted(maps.Keys(c.scopes))
	if len(namespaces) > maxListed {
		namespaces = []string{""}
	}
	for _, namespace := range namespaces {
		for _, state := range states {
			if err := c.list(dibs.NamesQuery{Namespace: namespace, State: state, Limit: batchSize}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *comparer) list(query dibs.NamesQuery) error {
	for {
		page, err := c.registry.List(c.ctx, query)
		if refused, ok := errors.AsType[*dibs.Error](err); ok && refused.Code == dibs.CodeInvalidNamespace {
			return nil // its rows were told to be invalid
		}
		if err != nil {
			return err
		}
		for _, name := range page.Names {
			if !c.scopes[name.Namespace][name.Entity.Type] {
				continue
			}
			c.result.Names++
			kept := dibs.Name{
				Namespace: name.Namespace, Value: name.Value, Canonical: name.Canonical, State: name.State, Entity: name.Entity,
				Archived: name.Archived, ConfirmedAt: name.ConfirmedAt,
			}
			if err := c.addKey(name.ID, fromRegistry, keyed{Name: kept}); err != nil {
				return err
			}
		}
		if err := c.pause(len(page.Names)); err != nil || page.Next == "" {
			return err
		}
		query.Cursor = page.Next
	}
}

// compareKeys finds names that only the registry has, and owners that are archived in one only.
func (c *comparer) compareKeys() error {
	var last string
	var row Row
	for key, err := range c.keys.Sorted() {
		if err != nil {
			return err
		}
		var k keyed
		id, from := string(key[:len(dibs.ID{})]), key[len(dibs.ID{})]
		if err := json.Unmarshal(key[len(dibs.ID{})+1:], &k); err != nil {
			return err
		}
		if from == fromSource {
			last, row = id, k.Row
			continue
		}
		switch k.Name.ID = dibs.ID([]byte(id)); {
		case id != last && !k.Name.ConfirmedAt.Before(c.began):
			c.result.Late++
		case id != last:
			err = c.differ(Difference{Kind: Extra, Name: k.Name})
		case c.archives && row.Value != "":
			err = c.addOwner(row, ownerOfName, keyed{Row: row, Name: k.Name})
		}
		if err != nil {
			return err
		}
	}
	return c.ctx.Err()
}

// Owners are sorted by scope, type and id, what the source says of them first.
const (
	archivedInSource byte = iota + 1 // zero separates the parts of a key
	ownerOfName
)

func (c *comparer) addOwner(row Row, what byte, k keyed) error {
	content, err := json.Marshal(k)
	if err != nil {
		return err
	}
	key := strings.Join([]string{dibs.ScopeOf(row.Namespace), row.Entity.Type, row.Entity.ID, string([]byte{what})}, "\x00")
	return c.owners.Add(append([]byte(key), content...))
}

// compareOwners finds owners that are archived in one only. The source says so of an owner if any of its
// rows does, as in an import.
func (c *comparer) compareOwners() error {
	var last string
	var archived, told bool
	for key, err := range c.owners.Sorted() {
		if err != nil {
			return err
		}
		end := bytes.LastIndexByte(key, 0) // JSON has no zero byte
		owner, what, content := string(key[:end]), key[end+1], key[end+2:]
		if owner != last {
			last, archived, told = owner, false, false
		}
		if what == archivedInSource {
			archived = true
			continue
		}
		var k keyed
		if err := json.Unmarshal(content, &k); err != nil {
			return err
		}
		if told || archived == k.Name.Archived {
			continue
		}
		told = true
		k.Row.Archived = archived
		if err := errors.Join(c.result.archived.add(k.Row), c.differ(Difference{Kind: OtherArchived, Row: k.Row, Name: k.Name})); err != nil {
			return err
		}
	}
	return c.ctx.Err()
}

// String says what differs, for people.
func (d Difference) String() string {
	switch d.Kind {
	case Missing:
		if d.Err != nil {
			return "the registry does not have it, and refuses it: " + d.Err.Message
		}
		return "the registry does not have it"
	case Invalid:
		return d.Err.Message
	case OtherOwner:
		return "it belongs to " + d.Name.Entity.String() + " in the registry"
	case OtherRole:
		if d.Name.State == dibs.Alias {
			return "it is an alias in the registry"
		}
		return "it is the active name in the registry"
	case OtherArchived:
		if d.Name.Archived {
			return d.Name.Entity.String() + " is archived in the registry only"
		}
		return d.Name.Entity.String() + " is archived in the source only"
	default:
		return "the source does not have it"
	}
}
