package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// span takes a duration of at least so much. One that is too short is not taken.
func (s *section) span(key string, least time.Duration, into *time.Duration) {
	var value time.Duration
	switch {
	case !s.duration(key, &value):
	case value < least:
		s.report(key, "is %s, it must be at least %s", formatDuration(value), formatDuration(least))
	case value%time.Millisecond != 0:
		s.report(key, "is %s, it must be whole milliseconds", formatDuration(value))
	default:
		*into = value
	}
}

// forever is how a duration without an end is written; a policy has zero for it.
const forever = "forever"

// spanOrForever takes a duration, or "forever".
func (s *section) spanOrForever(key string, into *time.Duration) {
	if s.values[key] == forever {
		s.known = append(s.known, key)
		*into = 0
		return
	}
	if text, ok := s.values[key].(string); ok {
		if d, err := parseDuration(text); err == nil && d <= 0 {
			s.known = append(s.known, key)
			s.report(key, "is %s, it must be at least 1ms, or %q", formatDuration(d), forever)
			return
		}
	}
	s.span(key, time.Millisecond, into)
}

// count takes a number within bounds.
func (s *section) count(key string, least, most int, into *int) {
	var value int
	switch {
	case !s.integer(key, &value):
	case value < least || value > most:
		s.report(key, "is %d, it must be between %d and %d", value, least, most)
	default:
		*into = value
	}
}

// oneOf takes one of a few numbers.
func (s *section) oneOf(key string, into *int, choices ...int) {
	var value int
	switch {
	case !s.integer(key, &value):
	case !slices.Contains(choices, value):
		s.report(key, "is %d, it must be one of %s", value, strings.Trim(fmt.Sprint(choices), "[]"))
	default:
		*into = value
	}
}
