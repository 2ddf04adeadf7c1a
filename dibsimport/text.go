package dibsimport

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxLine is the longest line of a text source, in bytes.
const maxLine = 1 << 20

// newLines returns the text without a byte order mark. Reading fails at a line that is longer than
// maxLine.
func newLines(in io.Reader) *bufio.Reader {
	text := bufio.NewReaderSize(&boundedLines{in: in}, 64<<10)
	if mark, _ := text.Peek(3); string(mark) == "\ufeff" {
		_, _ = text.Discard(len(mark))
	}
	return text
}

// boundedLines fails when a line does not end, before a reader above it keeps all of it in memory.
type boundedLines struct {
	in   io.Reader
	line int // that is read, from 0
	size int // of that line so far
}

func (b *boundedLines) Read(p []byte) (int, error) {
	n, err := b.in.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			b.size += len(rest)
			break
		}
		b.size, b.line, rest = 0, b.line+1, rest[end+1:]
	}
	if b.size > maxLine {
		return 0, fmt.Errorf("line %d is longer than %d bytes", b.line+1, maxLine)
	}
	return n, err
}

// CSV returns a source of comma-separated values. The first line has the names of the columns.
func CSV(in io.Reader) Source { return newTable(in, ',') }

// TSV is CSV with tabs in place of commas.
func TSV(in io.Reader) Source { return newTable(in, '\t') }

type table struct {
	rows    *csv.Reader
	columns []string
}

func newTable(in io.Reader, separator rune) *table {
	rows := csv.NewReader(newLines(in))
	rows.Comma, rows.ReuseRecord, rows.FieldsPerRecord = separator, true, -1 // Next says it better
	return &table{rows: rows}
}

func (t *table) Columns() []string { return t.columns }

func (t *table) Next() (Record, error) {
	if t.columns == nil {
		if err := t.readColumns(); err != nil {
			return Record{}, err
		}
	}
	fields, err := t.rows.Read()
	if err != nil {
		return Record{}, unreadable(err)
	}
	line, _ := t.rows.FieldPos(0)
	record := Record{Where: fmt.Sprintf("line %d", line), Fields: make(map[string]string, len(fields))}
	if len(fields) != len(t.columns) {
		return Record{}, fmt.Errorf("%s has %d columns, and the first line %d", record.Where, len(fields), len(t.columns))
	}
	for i, field := range fields {
		if err := checkText(field); err != nil {
			return Record{}, fmt.Errorf("%s, column %s: %w", record.Where, t.columns[i], err)
		}
		if field != "" {
			record.Fields[t.columns[i]] = field
		}
	}
	return record, nil
}

func (t *table) readColumns() error {
	fields, err := t.rows.Read()
	if errors.Is(err, io.EOF) {
		return errors.New("it is empty: the first line must have the names of the columns")
	}
	if err != nil {
		return unreadable(err)
	}
	for i, field := range fields {
		field = strings.TrimSpace(field)
		if err := checkText(field); err != nil {
			return fmt.Errorf("line 1: %w", err)
		}
		if slices.Contains(t.columns, field) {
			return fmt.Errorf("line 1 has two columns %q", field)
		}
		if field == "" {
			return fmt.Errorf("line 1: column %d has no name", i+1)
		}
		t.columns = append(t.columns, field)
	}
	return nil
}

// unreadable says where a text is not CSV.
func unreadable(err error) error {
	if parse, ok := errors.AsType[*csv.ParseError](err); ok && !errors.Is(err, io.EOF) {
		return fmt.Errorf("line %d, byte %d: %w", parse.Line, parse.Column, parse.Err)
	}
	return err
}

func checkText(text string) error {
	switch {
	case !utf8.ValidString(text):
		return errors.New("it is not UTF-8: convert the file first, for instance with iconv")
	case strings.IndexByte(text, 0) >= 0:
		return errors.New("it has a NUL byte")
	}
	return nil
}

// JSONLines returns a source of objects, one a line. Their members are the columns.
func JSONLines(in io.Reader) Source { return &objects{in: newLines(in)} }

type objects struct {
	in   *bufio.Reader
	line int
}

func (o *objects) Columns() []string { return nil }

func (o *objects) Next() (Record, error) {
	for {
		text, err := o.in.ReadBytes('\n')
		if err != nil && (!errors.Is(err, io.EOF) || len(text) == 0) {
			return Record{}, err
		}
		o.line++
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		record := Record{Where: fmt.Sprintf("line %d", o.line), Fields: make(map[string]string)}
		if err := readObject(text, record.Fields); err != nil {
			return Record{}, fmt.Errorf("%s: %w", record.Where, err)
		}
		return record, nil
	}
}

func readObject(text []byte, fields map[string]string) error {
	if err := checkText(string(text)); err != nil {
		return err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return fmt.Errorf("it is not an object: %w", err)
	}
	for name, raw := range members {
		var value any
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber() // a large id must keep its digits
		if err := decoder.Decode(&value); err != nil {
			return err
		}
		switch v := value.(type) {
		case nil:
		case string:
			fields[name] = v
		case bool, json.Number:
			fields[name] = fmt.Sprint(v)
		default: // an object or a list is not a name or a date, and need not be understood
		}
	}
	return nil
}
