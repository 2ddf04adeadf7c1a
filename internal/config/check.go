package config

import (
	"errors"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/calldibs/dibs/internal/engine"
)

// check checks the settings once all sources are read.
func (l *loader) check() {
	c := &l.config
	l.verify("listen", checkListen(c.Listen))
	l.verify("store", engine.Check(c.Store))
	if c.Keyless != KeylessLocal && c.Keyless != KeylessNever {
		l.reportKey("keyless", "is %q; it must be %q or %q", c.Keyless, KeylessLocal, KeylessNever)
	}
	for _, d := range []struct {
		key         string
		value       time.Duration
		least, most time.Duration
		orZero      bool
	}{
		{key: "wait", value: c.Wait, most: time.Hour},
		{key: "maxStale", value: c.MaxStale, most: 30 * day},
		{key: "sweepEvery", value: c.SweepEvery, least: 100 * time.Millisecond, most: day, orZero: true},
		{key: "drainTimeout", value: c.DrainTimeout, most: time.Hour},
		{key: "requestTimeout", value: c.RequestTimeout, least: 100 * time.Millisecond, most: time.Hour},
		{key: "readHeaderTimeout", value: c.ReadHeaderTimeout, least: 100 * time.Millisecond, most: time.Hour},
		{key: "idleTimeout", value: c.IdleTimeout, least: 100 * time.Millisecond, most: day},
	} {
		if (d.value < d.least || d.value > d.most) && (!d.orZero || d.value != 0) {
			l.reportKey(d.key, "is %s; it must be between %s and %s", formatDuration(d.value), formatDuration(d.least), formatDuration(d.most))
		}
	}
	if c.MaxBody < 1<<10 || c.MaxBody > 1<<30 {
		l.reportKey("maxBody", "is %s; it must be between 1KiB and 1GiB", c.MaxBody)
	}
	if !slices.Contains([]slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}, c.LogLevel) {
		l.verify("logLevel", errLevel)
	}
	if c.LogFormat != "text" && c.LogFormat != "json" {
		l.reportKey("logFormat", `is %q; it must be "text" or "json"`, c.LogFormat)
	}
	if c.Suggestions < 0 || c.Suggestions > 10 {
		l.reportKey("suggestions", "is %d; it must be between 0 and 10", c.Suggestions)
	}
}

func checkListen(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return errors.New(`must be an address and a port, like "127.0.0.1:8080", "[::1]:8080" or ":8080"`)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return errors.New("the port must be a number from 0 to 65535")
	}
	return nil
}

// verify reports an error about a setting, unless it is nil.
func (l *loader) verify(key string, err error) {
	if err != nil {
		l.reportKey(key, "%v", err)
	}
}

func (l *loader) reportKey(key, format string, args ...any) {
	l.report(l.origins[key], format, args...)
}
