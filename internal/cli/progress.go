package cli

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	pretty "github.com/jedib0t/go-pretty/v6/progress"

	"github.com/calldibs/dibs/dibsimport"
)

// measuredFile counts what is read of a file.
type measuredFile struct {
	io.Reader
	size int64
	read atomic.Int64
}

func (c *measuredFile) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// progress shows how far an import or a check is: as a bar on a terminal, as lines elsewhere, as events with
// --json.
type progress struct {
	session *session
	what    string
	size    *measuredFile // nil if the size is not known
	total   int           // of the rows; 0 if it is not known
	began   time.Time
	shown   time.Time

	bar *bar // nil unless stderr is a terminal
}

// progressEvery is how often a line or an event is written.
const progressEvery = 2 * time.Second

func (p *progress) begin(s *session, what string, size *measuredFile) {
	p.end()
	*p = progress{session: s, what: what, size: size, began: time.Now(), shown: time.Now()}
	if p.bar = s.newBar(what); p.bar != nil && size != nil {
		p.bar.tracker.UpdateTotal(size.size)
	}
}

// bar is a line on a terminal that shows how far something is. The text is at its end, where a narrow terminal
// cuts it.
type bar struct {
	lines    pretty.Writer
	tracker  *pretty.Tracker
	terminal io.Writer
	width    int
}

// newBar shows a bar on a terminal. It returns nil if stderr is none.
func (s *session) newBar(what string) *bar {
	if s.json || !isTerminal(s.Stderr) {
		return nil
	}
	b := &bar{lines: pretty.NewWriter(), tracker: &pretty.Tracker{Message: what}, terminal: s.Stderr}
	b.fit()
	b.lines.SetOutputWriter(b)
	b.lines.SetAutoStop(false)
	b.lines.SetTrackerPosition(pretty.PositionLeft)
	b.lines.SetTrackerLength(16)
	b.lines.SetUpdateFrequency(100 * time.Millisecond)
	b.lines.Style().Visibility = pretty.StyleVisibility{ETA: true, Percentage: true, Time: true, Tracker: true}
	options := &b.lines.Style().Options
	options.Separator, options.DoneString, options.TimeInProgressPrecision = " ", "... done!", time.Second
	b.lines.AppendTracker(b.tracker)
	go b.lines.Render()
	return b
}

// fit cuts lines to the width of the terminal. One that went on in the next row would stay: the library moves the
// cursor up by one row only.
func (b *bar) fit() {
	if width := widthOf(b.terminal) - 1; width > 0 && width != b.width {
		b.width = width
		b.lines.SetTerminalWidth(width)
	}
}

// Write shows lines of the library. A terminal may get another size meanwhile; the library reads the width on this
// goroutine only.
func (b *bar) Write(lines []byte) (int, error) {
	defer b.fit()
	return b.terminal.Write(lines)
}

// show shows a text beside the bar.
func (b *bar) show(text string) { b.tracker.UpdateMessage(text) }

// end stops a bar, and waits until the terminal is free.
func (b *bar) end() {
	b.tracker.MarkAsDone()
	b.lines.Stop()
	for b.lines.IsRenderInProgress() {
		time.Sleep(time.Millisecond)
	}
}

func (p *progress) tell(r dibsimport.Report) { p.show(r.Rows, "rows", r) }

// show shows how many have been done, such as rows. The detail is for programs.
func (p *progress) show(done int, of string, detail any) {
	rate := thousands(int(float64(done) / time.Since(p.began).Seconds()))
	if p.bar != nil {
		switch {
		case p.size != nil:
			p.bar.tracker.SetValue(min(p.size.read.Load(), p.size.size-1))
		case p.total > 0:
			p.bar.tracker.UpdateTotal(int64(p.total))
			p.bar.tracker.SetValue(int64(min(done, p.total-1)))
		}
		p.bar.show(fmt.Sprintf("%s: %s %s, %s/s", p.what, thousands(done), of, rate))
		return
	}
	if time.Since(p.shown) < progressEvery {
		return
	}
	p.shown = time.Now()
	if p.session.json {
		_ = p.session.encode(struct {
			Event  string `json:"event"`
			Detail any    `json:"detail"`
		}{p.what, detail}, "")
		return
	}
	fmt.Fprintf(p.session.Stderr, "%s: %s %s, %s/s%s\n", p.what, thousands(done), of, rate, p.left(done))
}

// left estimates how long the rest takes.
func (p *progress) left(done int) string {
	var share float64
	switch {
	case p.size != nil && p.size.read.Load() > 0:
		share = float64(p.size.read.Load()) / float64(p.size.size)
	case p.total > 0 && done > 0:
		share = float64(done) / float64(p.total)
	default:
		return ""
	}
	left := time.Duration(float64(time.Since(p.began)) * (1 - share) / share)
	return ", " + span(left.Round(time.Second)) + " left"
}

func (p *progress) end() {
	if p.bar != nil {
		p.bar.end()
		p.bar = nil
	}
}
