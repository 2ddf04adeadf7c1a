package main

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"github.com/calldibs/dibs/internal/figures"
)

// The size of a chart, and of its margins: names of lines stand on the right.
const (
	width, height            = 760, 400
	left, right, top, bottom = 64, 196, 64, 56
	labelGap                 = 36 // between the names of two lines
)

// style has the colours for a light and for a dark screen. The chart has its own background, so
// that it is readable on a page that does not follow the screen.
const style = `
    .card { fill: #ffffff; stroke: #d8dee4; }
    text { font-family: system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; font-size: 13px; fill: #57606a; }
    .title { font-size: 16px; font-weight: 600; fill: #1f2328; }
    .name { font-weight: 600; }
    .grid { stroke: #d8dee4; stroke-width: 1; }
    .line { fill: none; stroke-width: 2.5; stroke-linejoin: round; stroke-linecap: round; }
    .a { stroke: #0969da; } .a-fill { fill: #0969da; }
    .b { stroke: #1a7f37; } .b-fill { fill: #1a7f37; }
    .c { stroke: #8a5a00; stroke-dasharray: 6 5; } .c-fill { fill: #8a5a00; }
    @media (prefers-color-scheme: dark) {
      .card { fill: #0d1117; stroke: #3d444d; }
      text { fill: #9198a1; }
      .title { fill: #f0f6fc; }
      .grid { stroke: #2a313c; }
      .a { stroke: #58a6ff; } .a-fill { fill: #58a6ff; }
      .b { stroke: #3fb950; } .b-fill { fill: #3fb950; }
      .c { stroke: #d29922; } .c-fill { fill: #d29922; }
    }
  `

// classOf returns the look of a line, the same in all charts. Each has its own marker too, for readers
// who do not tell colours apart.
func classOf(name string) string {
	switch name {
	case figures.OnPostgres:
		return "a"
	case figures.OnSQLite:
		return "b"
	default:
		return "c"
	}
}

// drawing is a chart in the making. Points are evenly spaced, whatever their distance: what is
// measured grows by factors.
type drawing struct {
	strings.Builder
	xs  []float64
	max float64 // of the vertical axis
}

// draw returns a curve as an SVG image.
func draw(c figures.Curve) string {
	d := &drawing{xs: valuesOfX(c)}
	step := tickStep(highest(c))
	d.max = step * max(math.Ceil(highest(c)/step), 1)
	d.printf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="title">`, width, height, width, height)
	d.printf(`  <title id="title">%s</title>`, html.EscapeString(c.Title))
	d.printf("  <style>%s</style>", style)
	d.printf(`  <rect class="card" x="0.5" y="0.5" width="%d" height="%d" rx="8"/>`, width-1, height-1)
	d.text("title", "start", 24, 34, c.Title)
	d.axes(c, step)
	for _, line := range c.Lines {
		d.line(line)
	}
	d.names(c.Lines)
	d.WriteString("</svg>\n")
	return d.String()
}

func (d *drawing) printf(format string, args ...any) { fmt.Fprintf(d, format+"\n", args...) }

func (d *drawing) text(class, anchor string, x, y float64, text string) {
	d.printf(`  <text class="%s" text-anchor="%s" x="%.1f" y="%.1f">%s</text>`, class, anchor, x, y, html.EscapeString(text))
}

// x and y return where a value is in the image.
func (d *drawing) x(v float64) float64 {
	const plot = width - left - right
	return left + plot*float64(slices.Index(d.xs, v))/float64(max(len(d.xs)-1, 1))
}

func (d *drawing) y(v float64) float64 {
	const plot = height - top - bottom
	return top + plot*(1-v/d.max)
}

func (d *drawing) axes(c figures.Curve, step float64) {
	for v := 0.0; v <= d.max; v += step {
		d.printf(`  <line class="grid" x1="%d" y1="%.1f" x2="%d" y2="%.1f"/>`, left, d.y(v), width-right, d.y(v))
		d.text("tick", "end", left-10, d.y(v)+4, short(v))
	}
	for _, v := range d.xs {
		d.text("tick", "middle", d.x(v), height-bottom+20, short(v))
	}
	d.text("axis", "middle", left+(width-left-right)/2, height-bottom+42, c.X)
}

func (d *drawing) line(line figures.Line) {
	class := classOf(line.Name)
	var path []string
	for _, p := range line.Points {
		path = append(path, fmt.Sprintf("%.1f,%.1f", d.x(p.X), d.y(p.Y)))
	}
	d.printf(`  <polyline class="line %s" points="%s"/>`, class, strings.Join(path, " "))
	for _, p := range line.Points {
		d.marker(class, d.x(p.X), d.y(p.Y))
	}
}

func (d *drawing) marker(class string, x, y float64) {
	switch class {
	case "a":
		d.printf(`  <circle class="a-fill" cx="%.1f" cy="%.1f" r="4.5"/>`, x, y)
	case "b":
		d.printf(`  <rect class="b-fill" x="%.1f" y="%.1f" width="8" height="8"/>`, x-4, y-4)
	default:
		d.printf(`  <path class="%s-fill" d="M%.1f,%.1f l5,9 h-10 z"/>`, class, x, y-5)
	}
}

// names puts the name of each line, and its last value, beside the line's end.
func (d *drawing) names(lines []figures.Line) {
	sorted := slices.SortedFunc(slices.Values(lines), func(a, b figures.Line) int { return cmp.Compare(last(b).Y, last(a).Y) })
	at := make([]float64, len(sorted))
	for i, line := range sorted {
		at[i] = d.y(last(line).Y)
		if i > 0 {
			at[i] = max(at[i], at[i-1]+labelGap)
		}
	}
	// Names that reach below the chart move up, and push the others.
	for i := len(at) - 1; i >= 0; i-- {
		lowest := float64(height-bottom-12) - labelGap*float64(len(at)-1-i)
		at[i] = min(at[i], lowest)
	}
	for i, line := range sorted {
		x := float64(width - right + 14)
		d.text("name "+classOf(line.Name)+"-fill", "start", x, at[i]+1, line.Name)
		d.text("tick", "start", x, at[i]+17, figures.Thousands(last(line).Y)+" at "+short(last(line).X))
	}
}

func last(line figures.Line) figures.Point {
	if len(line.Points) == 0 {
		return figures.Point{}
	}
	return line.Points[len(line.Points)-1]
}

func valuesOfX(c figures.Curve) (xs []float64) {
	for _, line := range c.Lines {
		for _, p := range line.Points {
			xs = append(xs, p.X)
		}
	}
	slices.Sort(xs)
	return slices.Compact(xs)
}

func highest(c figures.Curve) (v float64) {
	for _, line := range c.Lines {
		for _, p := range line.Points {
			v = max(v, p.Y)
		}
	}
	return v
}

// tickStep returns a round distance of about five ticks.
func tickStep(highest float64) float64 {
	if highest <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(highest/5)))
	for _, factor := range []float64{1, 2, 5} {
		if power*factor*5 >= highest {
			return power * factor
		}
	}
	return 10 * power
}

// short formats a number for an axis: 256, 1,024, 10k, 1.5k, 3M.
func short(v float64) string {
	shorten := func(v float64, unit string) string {
		return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") + unit
	}
	switch {
	case v >= 1e6:
		return shorten(v/1e6, "M")
	case v >= 1e4 || v >= 1e3 && math.Mod(v, 500) == 0:
		return shorten(v/1e3, "k")
	default:
		return figures.Thousands(v)
	}
}
