package manpage

import (
	"fmt"
	"strings"
	"time"
)

// page is a page that is being written.
type page struct{ strings.Builder }

// begin begins a page with its name and what it is about.
func (e Edition) begin(name, section, about string) *page {
	p := new(page)
	date := e.Date
	if date.IsZero() {
		date = time.Unix(0, 0).UTC()
	}
	p.macro("Dd", date.Format("January 2, 2006"))
	p.macro("Dt", escape(strings.ToUpper(name)), section)
	p.macro("Os", fmt.Sprintf(`"Dibs %s"`, escape(e.Version)))
	p.heading("NAME")
	p.macro("Nm", escape(name))
	p.macro("Nd", escape(strings.ToLower(about[:1])+about[1:]))
	return p
}

// macro writes a line that is a macro with its arguments.
func (p *page) macro(name string, args ...string) {
	p.WriteString("." + strings.Join(append([]string{name}, args...), " ") + "\n")
}

func (p *page) heading(title string) { p.macro("Sh", title) }

// text writes paragraphs. Indented lines stay as they are.
func (p *page) text(text string) {
	for i, paragraph := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		var plain, indented []string
		for line := range strings.SplitSeq(paragraph, "\n") {
			if strings.HasPrefix(line, "  ") {
				indented = append(indented, line)
			} else {
				plain = append(plain, line)
			}
		}
		if i > 0 && len(plain) > 0 {
			p.macro("Pp")
		}
		for _, line := range plain {
			// A sentence begins a line, so that formatters can space it.
			for sentence := range strings.SplitSeq(strings.ReplaceAll(line, ". ", ".\n"), "\n") {
				p.line(sentence)
			}
		}
		if len(indented) > 0 {
			p.literal(unindent(strings.Join(indented, "\n")))
		}
	}
}

// literal writes lines as they are.
func (p *page) literal(text string) {
	p.macro("Bd -literal -offset indent")
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		p.line(line)
	}
	p.macro("Ed")
}

// line writes a line of text, which must not look like a macro.
func (p *page) line(text string) {
	escaped := escape(text)
	if strings.HasPrefix(escaped, ".") || strings.HasPrefix(escaped, "'") {
		escaped = `\&` + escaped
	}
	p.WriteString(escaped + "\n")
}

// escape writes a text in ASCII, with hyphens that can be copied into a shell.
func escape(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r > 126:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
