package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// atLeast reads a duration with a minimum.
func (s *section) atLeast(key string, least time.Duration, into *time.Duration) {
	var value time.Duration
	switch {
	case !s.duration(key, &value):
	case value < least:
		s.report(key, "is %s; it must be at least %s", formatDuration(value), formatDuration(least))
	case value%time.Millisecond != 0:
		s.report(key, "is %s; it must be whole milliseconds", formatDuration(value))
	default:
		*into = value
	}
}

// positiveOr reads a positive duration, or a word that means zero.
func (s *section) positiveOr(key, word string, into *time.Duration) {
	if s.values[key] == word {
		s.known = append(s.known, key)
		*into = 0
		return
	}
	if text, ok := s.values[key].(string); ok {
		if d, err := parseDuration(text); err == nil && d <= 0 {
			s.known = append(s.known, key)
			s.report(key, "is %s; it must be at least 1ms, or %q", formatDuration(d), word)
			return
		}
	}
	s.atLeast(key, time.Millisecond, into)
}

// count reads a number within bounds.
func (s *section) count(key string, least, most int, into *int) {
	var value int
	switch {
	case !s.integer(key, &value):
	case value < least || value > most:
		s.report(key, "is %d; it must be between %d and %d", value, least, most)
	default:
		*into = value
	}
}

// oneOf reads one of a few numbers.
func (s *section) oneOf(key string, into *int, choices ...int) {
	var value int
	switch {
	case !s.integer(key, &value):
	case !slices.Contains(choices, value):
		s.report(key, "is %d; it must be one of %s", value, strings.Trim(fmt.Sprint(choices), "[]"))
	default:
		*into = value
	}
}
