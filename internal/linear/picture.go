package linear

import (
	"cmp"
	_ "embed" // for the page
	"fmt"
	"html"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"
)

// explain shrinks a history that is not linearizable, lists its operations and draws it.
func (h *history) explain(folder string) *Violation {
	operations := h.shrink(h.operations())
	slices.SortFunc(operations, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	v := &Violation{
		Seed: h.seed, Recorded: len(h.done),
		What: fmt.Sprintf("no order of these operations explains all answers (%d of %d operations of the history, in %s)",
			len(operations), len(h.done), h.namespace()),
	}
	d := h.draw(operations)
	for _, row := range d.Rows {
		v.Shortest = append(v.Shortest, row.String())
	}
	file, err := os.CreateTemp(folder, fmt.Sprintf("dibs-history-%d-*.html", h.seed))
	if err != nil {
		v.What += "; no picture: " + err.Error()
		return v
	}
	defer file.Close()
	if err := d.write(file); err != nil {
		v.What += "; no picture: " + err.Error()
		return v
	}
	v.Picture = file.Name()
	return v
}

//go:embed picture.html
var pictureText string

// drawing is a history as a picture: a lane for each client, and a bar for each operation. Sizes
// are in pixels.
type drawing struct {
	Seed          uint64
	Namespace     string
	Recorded      int
	Lanes         []lane
	Rows          []row
	Width, Height int
	Culprit       string
}

type lane struct {
	Client string
	Y      int
}

// row is an operation, as a bar and as a line of the table.
type row struct {
	Number        int
	From, To      float64 // in milliseconds after the start of the history
	Client        string
	Input, Output string
	Class         string // change, read, refused, unknown or impossible
	X, Y, Length  int
	impossible    bool
	neverAnswered bool
}

// String formats a row for a terminal.
func (r row) String() string {
	to := fmt.Sprintf("%9.3f", r.To)
	if r.neverAnswered {
		to = "        …"
	}
	mark := " "
	if r.impossible {
		mark = "✗"
	}
	return fmt.Sprintf("%s %9.3f to %s ms  %-8s  %s: %s", mark, r.From, to, r.Client, r.Input, r.Output)
}

const (
	laneHeight  = 44
	drawingSize = 1100
	minBar      = 22
)

// draw places the operations of a history on lanes. Time between operations is shortened: a
// bar is as long as the moments that begin or end during it.
func (h *history) draw(operations []porcupine.Operation) drawing {
	d := drawing{Seed: h.seed, Namespace: h.namespace(), Recorded: len(h.done), Width: drawingSize + 120}
	var moments []int64
	lanes := make(map[int]int)
	last := -1
	for i, operation := range operations {
		moments = append(moments, operation.Call, operation.Return)
		lanes[operation.ClientId] = 0
		if !operation.Output.(Answer).Lost && (last < 0 || operation.Return > operations[last].Return) {
			last = i // the answer after which the history is impossible
		}
	}
	slices.Sort(moments)
	moments = slices.Compact(moments)
	for _, client := range slices.Sorted(maps.Keys(lanes)) {
		lanes[client] = len(d.Lanes)
		d.Lanes = append(d.Lanes, lane{h.clientName(client), 30 + laneHeight*len(d.Lanes)})
	}
	d.Height = 40 + laneHeight*len(d.Lanes)
	position := func(moment int64) int {
		at, _ := slices.BinarySearch(moments, moment)
		return 100 + at*drawingSize/max(1, len(moments)-1)
	}
	for i, operation := range operations {
		o, a := operation.Input.(Op), operation.Output.(Answer)
		r := row{
			Number: i + 1, From: float64(operation.Call) / 1e6, To: float64(operation.Return) / 1e6, Client: h.clientName(operation.ClientId),
			Input: o.String(), Output: a.String(), Class: classOf(o, a), impossible: i == last, neverAnswered: a.Lost,
			X: position(operation.Call), Y: d.Lanes[lanes[operation.ClientId]].Y,
		}
		r.Length = max(minBar, position(operation.Return)-r.X-2)
		if r.impossible {
			r.Class = "impossible"
			d.Culprit = fmt.Sprintf("%s: %s", r.Input, r.Output)
		}
		d.Rows = append(d.Rows, r)
	}
	return d
}

func (h *history) clientName(i int) string {
	if i == h.clients {
		return "at last" // the final reads
	}
	return fmt.Sprintf("client %d", i+1)
}

func classOf(o Op, a Answer) string {
	switch {
	case a.Lost:
		return "unknown"
	case a.Code != "":
		return "refused"
	case o.Verb.reads() || a.Replayed:
		return "read"
	}
	return "change"
}

// write fills the page in. It is no template, because the linker would then keep every method of every
// type in dibs.
func (d drawing) write(w io.Writer) error {
	var lanes, bars, rows strings.Builder
	for _, l := range d.Lanes {
		fmt.Fprintf(&lanes, `<text x="0" y="%[1]d" dy="17">%[2]s</text><line x1="100" x2="%[3]d" y1="%[1]d" y2="%[1]d" transform="translate(0 34)"/>`+"\n",
			l.Y, html.EscapeString(l.Client), d.Width)
	}
	for _, r := range d.Rows {
		bars.WriteString(r.bar())
		rows.WriteString(r.line())
	}
	_, err := strings.NewReplacer(
		"{SEED}", strconv.FormatUint(d.Seed, 10), "{NAMESPACE}", html.EscapeString(d.Namespace), "{SHOWN}", strconv.Itoa(len(d.Rows)),
		"{RECORDED}", strconv.Itoa(d.Recorded), "{CULPRIT}", html.EscapeString(d.Culprit),
		"{WIDTH}", strconv.Itoa(d.Width), "{HEIGHT}", strconv.Itoa(d.Height),
		"{LANES}\n", lanes.String(), "{BARS}\n", bars.String(), "{ROWS}\n", rows.String(),
	).WriteString(w, pictureText)
	return err
}

func (r row) bar() string {
	return fmt.Sprintf(`<g><title>%[1]d. %[2]s: %[3]s</title><rect class="bar %[4]s" x="%[5]d" y="%[6]d" width="%[7]d" height="24"/>`+
		`<text x="%[5]d" y="%[6]d" dx="5" dy="17">%[1]d</text></g>`+"\n",
		r.Number, html.EscapeString(r.Input), html.EscapeString(r.Output), r.Class, r.X, r.Y, r.Length)
}

func (r row) line() string {
	to := "…"
	if r.Class != "unknown" {
		to = fmt.Sprintf("%.3f ms", r.To)
	}
	return fmt.Sprintf(`<tr class="%s"><td class="number">%d</td><td class="time">%.3f ms</td><td class="time">%s</td><td>%s</td><td>%s</td><td>%s</td></tr>`+"\n",
		r.Class, r.Number, r.From, to, html.EscapeString(r.Client), html.EscapeString(r.Input), html.EscapeString(r.Output))
}
