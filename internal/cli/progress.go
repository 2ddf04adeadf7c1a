package cli

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	pretty "github.com/jedib0t/go-pretty/v6/progress"
	"github.com/mattn/go-isatty"

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

	bar     pretty.Writer // nil unless stderr is a terminal
	tracker *pretty.Tracker
}

// progressEvery is how often a line or an event is written.
const progressEvery = 2 * time.Second

func (p *progress) begin(s *session, what string, size *measuredFile) {
	p.end()
	*p = progress{session: s, what: what, size: size, began: time.Now(), shown: time.Now()}
	if p.bar, p.tracker = s.newBar(what); p.bar != nil && size != nil {
		p.tracker.UpdateTotal(size.size)
	}
}

// newBar shows a bar on a terminal. It returns nil if stderr is none.
func (s *session) newBar(what string) (pretty.Writer, *pretty.Tracker) {
	if file, ok := s.Stderr.(*os.File); !ok || s.json || !isatty.IsTerminal(file.Fd()) {
		return nil, nil
	}
	bar := pretty.NewWriter()
	bar.SetOutputWriter(s.Stderr)
	bar.SetAutoStop(false)
	bar.SetTrackerLength(24)
	bar.SetUpdateFrequency(100 * time.Millisecond)
	bar.Style().Visibility = pretty.StyleVisibility{ETA: true, Percentage: true, Time: true, Tracker: true}
	tracker := &pretty.Tracker{Message: what}
	bar.AppendTracker(tracker)
	go bar.Render()
	return bar, tracker
}

// endBar stops a bar, and waits until the terminal is free.
func endBar(bar pretty.Writer, tracker *pretty.Tracker) {
	tracker.MarkAsDone()
	bar.Stop()
	for bar.IsRenderInProgress() {
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
			p.tracker.SetValue(min(p.size.read.Load(), p.size.size-1))
		case p.total > 0:
			p.tracker.UpdateTotal(int64(p.total))
			p.tracker.SetValue(int64(min(done, p.total-1)))
		}
		p.tracker.UpdateMessage(fmt.Sprintf("%s: %s %s, %s/s", p.what, thousands(done), of, rate))
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
		endBar(p.bar, p.tracker)
		p.bar = nil
	}
}
