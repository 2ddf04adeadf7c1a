package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/figures"
)

var example = figures.Curve{
	ID: "callers", Title: "Reservations & callers", X: "callers", Y: "reservations a second",
	Lines: []figures.Line{
		{Name: "Dibs on PostgreSQL", Points: []figures.Point{{X: 1, Y: 2400}, {X: 4, Y: 9000}, {X: 16, Y: 21_000}, {X: 64, Y: 33_000}, {X: 256, Y: 40_000}, {X: 1024, Y: 42_000}}},
		{Name: "Dibs on SQLite", Points: []figures.Point{{X: 1, Y: 3900}, {X: 4, Y: 9900}, {X: 16, Y: 17_000}, {X: 64, Y: 24_000}, {X: 256, Y: 27_000}, {X: 1024, Y: 28_000}}},
		{Name: "bare on PostgreSQL", Points: []figures.Point{{X: 1, Y: 4200}, {X: 4, Y: 11_000}, {X: 16, Y: 18_000}, {X: 64, Y: 18_500}, {X: 256, Y: 18_000}, {X: 1024, Y: 17_500}}},
	},
}

// A chart is well-formed XML, has every line and every point, and both sets of colours.
func TestDraw(t *testing.T) {
	t.Parallel()
	image := draw(example)
	elements := make(map[string]int)
	decoder := xml.NewDecoder(strings.NewReader(image))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok {
			elements[start.Name.Local]++
		}
	}
	if elements["polyline"] != 3 || elements["circle"] != 6 || elements["path"] != 6 {
		t.Errorf("the image has %v", elements)
	}
	for _, want := range []string{"prefers-color-scheme: dark", "Reservations &amp; callers", ">Dibs on SQLite<", ">42,000 at 1,024<"} {
		if !strings.Contains(image, want) {
			t.Errorf("the image lacks %q", want)
		}
	}
}

func TestNothingMeasuredIsDrawn(t *testing.T) {
	t.Parallel()
	if image := draw(figures.Curve{Lines: []figures.Line{{Name: "Dibs"}}}); strings.Contains(image, "NaN") {
		t.Error(image)
	}
}

func TestTicks(t *testing.T) {
	t.Parallel()
	for highest, want := range map[float64]float64{0: 1, 4: 1, 42_000: 10_000, 17_000: 5000, 9: 2, 100: 20} {
		if got := tickStep(highest); got != want {
			t.Errorf("up to %v: a tick every %v, want %v", highest, got, want)
		}
	}
	for v, want := range map[float64]string{0: "0", 256: "256", 1024: "1,024", 1500: "1.5k", 20_000: "20k", 100_000: "100k", 3e6: "3M"} {
		if got := short(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
}
