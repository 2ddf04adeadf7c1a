package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// parseDuration parses "90s", "1h30m", and a leading number of days: "30d", "1d12h".
func parseDuration(text string) (time.Duration, error) {
	var days time.Duration
	rest := text
	if number, behind, found := strings.Cut(text, "d"); found {
		n, err := strconv.ParseUint(number, 10, 32)
		if err != nil || n > uint64(math.MaxInt64/day) {
			return 0, badDuration(text)
		}
		days, rest = time.Duration(n)*day, behind
		if rest == "" {
			return days, nil
		}
	}
	d, err := time.ParseDuration(rest)
	if err != nil || (days > 0 && (d < 0 || d > math.MaxInt64-days)) {
		return 0, badDuration(text)
	}
	return days + d, nil
}

func badDuration(text string) error {
	return fmt.Errorf(`invalid duration %q: write "90s", "5m", "1h30m" or "30d"`, text)
}

// formatDuration formats a duration as in a file: whole days as days, without trailing zeros.
func formatDuration(d time.Duration) string {
	if d >= day && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Size is a number of bytes, written as "1MiB", "64KiB" or "1000".
type Size int64

var units = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// UnmarshalText parses a Size.
func (s *Size) UnmarshalText(text []byte) error {
	number, unit := string(text), int64(1)
	for _, u := range units {
		if n, found := strings.CutSuffix(number, u.name); found {
			number, unit = n, u.bytes
			break
		}
	}
	n, err := strconv.ParseUint(strings.TrimSpace(number), 10, 63)
	if err != nil || int64(n) > math.MaxInt64/unit {
		return fmt.Errorf(`invalid size %q: write bytes, or "64KiB", "1MiB"`, text)
	}
	*s = Size(int64(n) * unit)
	return nil
}

// String formats the size in the largest unit that divides it.
func (s Size) String() string {
	for _, u := range units {
		if s >= Size(u.bytes) && int64(s)%u.bytes == 0 {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// parseCount parses a whole number.
func parseCount(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("invalid number %q", text)
	}
	return n, nil
}

var errLevel = errors.New(`must be "debug", "info", "warn" or "error"`)
