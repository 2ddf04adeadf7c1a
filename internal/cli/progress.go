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

// progress shows how far an import is: as a bar on a terminal, as lines elsewhere, as events with
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
	if file, ok := s.Stderr.(*os.File); !ok || s.json || !isatty.IsTerminal(file.Fd()) {
		return
	}
	p.bar = pretty.NewWriter()
	p.bar.SetOutputWriter(s.Stderr)
	p.bar.SetAutoStop(false)
	p.bar.SetTrackerLength(24)
	p.bar.SetUpdateFrequency(100 * time.Millisecond)
	p.bar.Style().Visibility = pretty.StyleVisibility{ETA: true, Percentage: true, Time: true, Tracker: true}
	p.tracker = &pretty.Tracker{Message: what}
	if size != nil {
		p.tracker.Total = size.size
	}
	p.bar.AppendTracker(p.tracker)
	go p.bar.Render()
}

func (p *progress) tell(r dibsimport.Report) { p.show(r.Rows, r) }

// show shows how many rows are done. The detail is for programs.
func (p *progress) show(rows int, detail any) {
	rate := thousands(int(float64(rows) / time.Since(p.began).Seconds()))
	if p.bar != nil {
		switch {
		case p.size != nil:
			p.tracker.SetValue(min(p.size.read.Load(), p.size.size-1))
		case p.total > 0:
			p.tracker.UpdateTotal(int64(p.total))
			p.tracker.SetValue(int64(min(rows, p.total-1)))
		}
		p.tracker.UpdateMessage(fmt.Sprintf("%s: %s rows, %s/s", p.what, thousands(rows), rate))
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
	fmt.Fprintf(p.session.Stderr, "%s: %s rows, %s/s%s\n", p.what, thousands(rows), rate, p.left(rows))
}

// left estimates how long the rest takes.
func (p *progress) left(rows int) string {
	var share float64
	switch {
	case p.size != nil && p.size.read.Load() > 0:
		share = float64(p.size.read.Load()) / float64(p.size.size)
	case p.total > 0 && rows > 0:
		share = float64(rows) / float64(p.total)
	default:
		return ""
	}
	left := time.Duration(float64(time.Since(p.began)) * (1 - share) / share)
	return ", " + span(left.Round(time.Second)) + " left"
}

func (p *progress) end() {
	if p.bar != nil {
		p.tracker.MarkAsDone()
		p.bar.Stop()
		for p.bar.IsRenderInProgress() {
			time.Sleep(time.Millisecond)
		}
		p.bar = nil
	}
}
