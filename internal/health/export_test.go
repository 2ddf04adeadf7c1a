package health

import (
	"log/slog"
	"time"
)

// NewRareMonitor returns a Monitor that probes each engine only once.
func NewRareMonitor(log *slog.Logger) *Monitor {
	m := NewMonitor(log)
	m.intervals.idle, m.intervals.failing, m.intervals.slow = time.Hour, time.Hour, time.Hour
	return m
}
