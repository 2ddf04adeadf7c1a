package bench

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// unit is the unit of a figure.
type unit string

const (
	perSecond    unit = "per second"
	seconds      unit = "seconds"
	bytesOnDisk  unit = "bytes"
	transactions unit = "transactions"
)

func (u unit) format(v float64) string {
	switch u {
	case perSecond:
		return thousands(v) + "/s"
	case seconds:
		d := time.Duration(v * float64(time.Second))
		if d >= time.Second {
			return d.Round(10 * time.Millisecond).String()
		}
		return d.Round(time.Microsecond).String()
	case bytesOnDisk:
		return thousands(v) + " B"
	default:
		return thousands(v)
	}
}

// thousands rounds to a whole number and adds thousands separators: 26,900.
func thousands(v float64) string {
	digits := strconv.FormatInt(int64(math.Round(v)), 10)
	var text strings.Builder
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 && digits[i-1] != '-' {
			text.WriteByte(',')
		}
		text.WriteRune(digit)
	}
	return text.String()
}

func formatRatio(ratio float64) string { return fmt.Sprintf("%.2f×", ratio) }

// formatSample shows the median, the minimum and the maximum.
func formatSample(u unit, s sample) string {
	switch len(s) {
	case 0:
		return ""
	case 1:
		return u.format(s[0])
	default:
		return fmt.Sprintf("%s (%s–%s)", u.format(s.median()), u.format(slices.Min(s)), u.format(slices.Max(s)))
	}
}

// printTable prints a line for each row: what, ours, peer, ratio, goal, met or not.
func printTable(out io.Writer, rows []row) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\twhat\tours (min–max)\tpeer (min–max)\tratio\tgoal\tmet")
	for _, r := range rows {
		ratio, met := "", "–"
		if len(r.peer) > 0 {
			ratio = formatRatio(r.figure())
		}
		if r.want.sense != noTarget {
			met = map[bool]string{true: "yes", false: "no"}[r.met()]
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			r.goal, r.what, formatSample(r.unit, r.ours), formatSample(r.unit, r.peer), ratio, r.target(), met)
	}
	return table.Flush()
}
