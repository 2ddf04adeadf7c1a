package figures

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Sample has the figures of several rounds of one measurement.
type Sample []float64

// Median returns the median, which a single outlier does not change much; 0 if there is none.
func (s Sample) Median() float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// Unit is the unit of a figure.
type Unit string

// The units.
const (
	PerSecond    Unit = "per second"
	Seconds      Unit = "seconds"
	Bytes        Unit = "bytes"
	Megabytes    Unit = "megabytes"
	Transactions Unit = "transactions"
	Share        Unit = "share"
)

// Format formats a figure with its unit.
func (u Unit) Format(v float64) string {
	switch u {
	case PerSecond:
		return Thousands(v) + "/s"
	case Seconds:
		d := time.Duration(v * float64(time.Second))
		if d >= time.Second {
			return d.Round(10 * time.Millisecond).String()
		}
		return d.Round(time.Microsecond).String()
	case Bytes:
		return Thousands(v) + " B"
	case Megabytes:
		return Thousands(v) + " MB"
	case Share:
		return fmt.Sprintf("%.2f", v)
	default:
		return Thousands(v)
	}
}

// Range formats the median, the minimum and the maximum.
func (u Unit) Range(s Sample) string {
	switch len(s) {
	case 0:
		return ""
	case 1:
		return u.Format(s[0])
	default:
		return fmt.Sprintf("%s (%s–%s)", u.Format(s.Median()), u.Format(slices.Min(s)), u.Format(slices.Max(s)))
	}
}

// Thousands rounds to a whole number and adds thousands separators: 26,900.
func Thousands(v float64) string {
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

// Ratio formats a ratio: 2.21×.
func Ratio(ratio float64) string { return fmt.Sprintf("%.2f×", ratio) }

// Micros formats processor time: 48 µs, or nothing if it is unknown.
func Micros(v float64) string {
	switch {
	case v == 0:
		return ""
	case v < 10:
		return fmt.Sprintf("%.1f µs", v)
	default:
		return Thousands(v) + " µs"
	}
}
