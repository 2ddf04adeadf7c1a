package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// answer is the output of a command: a JSON document for programs, text for people.
type answer struct {
	document any
	text     func(*printer)
}

// converted returns the answer for a result, or the error: converted(wire.NameOf, text)(registry.Get(…)).
func converted[T, D any](document func(T) D, text func(*printer, T)) func(T, error) (*answer, error) {
	return func(result T, err error) (*answer, error) {
		if err != nil {
			return nil, err
		}
		return &answer{document(result), func(p *printer) { text(p, result) }}, nil
	}
}

// print writes an answer. With --json there is only one document: after an error, the problem.
func (s *session) print(a *answer, err error) {
	_, printed := errors.AsType[exitError](err)
	switch {
	case a == nil:
	case !s.json:
		a.text(s.printer())
	case err == nil || printed:
		s.writeJSON(a.document)
	}
}

// writeJSON writes an indented document.
func (s *session) writeJSON(document any) {
	if err := s.encode(document, "  "); err != nil {
		fmt.Fprintf(s.Stderr, "dibs: writing the answer: %v\n", err)
	}
}

// encode writes a document as JSON; on one line if indent is empty.
func (s *session) encode(document any, indent string) error {
	encoder := json.NewEncoder(s.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	return encoder.Encode(document)
}

// printer writes an answer as text.
type printer struct {
	out   io.Writer
	now   time.Time
	paint paint
	width int // of the terminal; 0 means no limit
}

func (s *session) printer() *printer {
	return &printer{out: s.Stdout, now: s.Now(), paint: s.paintOn(s.Stdout), width: widthOf(s.Stdout)}
}

// plain is a table style without lines.
var plain = table.Style{
	Name:    "plain",
	Box:     table.BoxStyle{PaddingRight: "  "},
	Options: table.OptionsNoBordersAndSeparators,
}

// line prints a line.
func (p *printer) line(format string, args ...any) {
	fmt.Fprintln(p.out, clean(fmt.Sprintf(format, args...)))
}

// table prints rows under a header. It omits empty columns, and on a narrow terminal those that
// matter least, with a line that says so.
func (p *printer) table(header []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	used := usedColumns(rows)
	var left []string
	text := p.render(header, rows, used)
	for _, name := range leastNeeded {
		i := slices.Index(header, name)
		if p.width == 0 || widest(text) <= p.width {
			break
		}
		if slices.Contains(used, i) {
			used = slices.DeleteFunc(used, func(column int) bool { return column == i })
			left = append(left, name)
			text = p.render(header, rows, used)
		}
	}
	fmt.Fprintln(p.out, text)
	if len(left) > 0 {
		slices.Reverse(left)
		fmt.Fprintln(p.out, p.paint.in(faint, "too narrow for: "+join(left)+" (a wider terminal or --json shows them)"))
	}
}

// leastNeeded are the columns that a narrow terminal does not show, the first to be left out first.
var leastNeeded = []string{"id", "cursor", "correlation", "created", "epoch", "by", "value"}

// usedColumns returns the columns in which a row has a text.
func usedColumns(rows [][]string) (used []int) {
	for i := range rows[0] {
		if slices.ContainsFunc(rows, func(row []string) bool { return row[i] != "" }) {
			used = append(used, i)
		}
	}
	return used
}

// widest returns the number of columns of the longest line.
func widest(lines string) (width int) {
	for line := range strings.Lines(lines) {
		width = max(width, text.StringWidthWithoutEscSequences(strings.TrimRight(line, "\n")))
	}
	return width
}

// render returns some columns of a table.
func (p *printer) render(header []string, rows [][]string, used []int) string {
	w := table.NewWriter()
	w.SetStyle(plain)
	w.SuppressTrailingSpaces()
	row := func(cells []string, look func(column int, cell string) string) (row table.Row) {
		for _, i := range used {
			row = append(row, look(i, clean(cells[i])))
		}
		return row
	}
	w.AppendHeader(row(header, func(_ int, cell string) string { return p.paint.in(faint, strings.ToUpper(cell)) }))
	for _, cells := range rows {
		w.AppendRow(row(cells, func(column int, cell string) string {
			if isWord(header[column]) {
				return p.paint.word(cell)
			}
			return cell
		}))
	}
	return w.Render()
}

// list prints a table, or a text if it has no rows.
func (p *printer) list(none string, header []string, rows [][]string) {
	if len(rows) == 0 {
		p.line("%s", none)
	}
	p.table(header, rows)
}

// next prints how to get the next page, if there is one.
func (p *printer) next(hint, cursor string) {
	if cursor != "" {
		p.line("")
		p.line("%s --cursor %s", hint, cursor)
	}
}

// fields prints labels and values, one pair per line. It omits empty values.
func (p *printer) fields(pairs ...[2]string) {
	pairs = slices.DeleteFunc(slices.Clone(pairs), func(pair [2]string) bool { return pair[1] == "" })
	longest := 0
	for _, pair := range pairs {
		longest = max(longest, len(pair[0]))
	}
	for _, pair := range pairs {
		value := strings.ReplaceAll(clean(pair[1]), "\n", "\n"+strings.Repeat(" ", longest+2))
		if isWord(pair[0]) {
			value = p.paint.word(value)
		}
		fmt.Fprintf(p.out, "%s%*s%s\n", p.paint.in(faint, pair[0]), longest-len(pair[0])+2, "", value)
	}
}

// moment formats a time, with the remaining time if it is in the future.
func (p *printer) moment(t time.Time) string { return moment(t, p.now) }

func moment(t, now time.Time) string {
	left := t.Sub(now)
	switch {
	case t.IsZero():
		return ""
	case left <= 0:
		return date(t)
	default:
		return date(t) + " (in " + span(left) + ")"
	}
}

// date formats a time in UTC; empty for the zero time.
func date(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// span formats a duration roughly: 3d, 2h, 1m30s.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 3*day:
		return strconv.Itoa(int(d/day)) + "d"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	default:
		d = d.Truncate(time.Second)
		text := strings.TrimSuffix(d.String(), "m0s")
		if text != d.String() {
			text += "m"
		}
		if hours, ok := strings.CutSuffix(text, "h0m"); ok {
			text = hours + "h"
		}
		return text
	}
}

// clean escapes control and invisible characters: names come from untrusted users.
func clean(s string) string {
	var b strings.Builder
	for _, r := range s {
		// Some scripts and emoji need joiners.
		if unicode.IsPrint(r) || r == '\n' || r == '\t' || r == '\u200c' || r == '\u200d' {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return b.String()
}

func join(words []string) string { return strings.Join(words, ", ") }

// count formats a number with its noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
