package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/calldibs/dibs/internal/engine"
)

// Setting is one setting of file, environment and command line.
type Setting struct {
	Key     string // in the file: "maxStale"
	Env     string // in the environment: "DIBS_MAX_STALE"
	Flag    string // on the command line, without leading hyphens: "max-stale"
	Default string
	About   string // the help text

	// field returns a pointer to the setting's field.
	field func(*Config) any
	// check checks the value, once all sources are read.
	check func(*Config) error
}

const shortest = 100 * time.Millisecond

// settings has an entry for each setting, in the order of the sample.
var settings = []Setting{
	{
		Key: "listen", About: "address to listen on, host:port",
		field: func(c *Config) any { return &c.Listen },
		check: func(c *Config) error { return checkListen(c.Listen) },
	},
	{
		Key: "keyless", About: "local: require a key except on localhost; never: always require a key",
		field: func(c *Config) any { return &c.Keyless },
		check: func(c *Config) error { return oneOf(c.Keyless, KeylessLocal, KeylessNever) },
	},
	{
		Key: "store", About: "where names are kept: sqlite:FILE, postgres://…, etcd://… or mem:",
		field: func(c *Config) any { return &c.Store },
		check: func(c *Config) error { return engine.Check(c.Store) },
	},
	{
		Key: "wait", About: "how long to wait at start for a store that does not answer; 0s means not at all",
		field: func(c *Config) any { return &c.Wait },
		check: func(c *Config) error { return between(c.Wait, 0, time.Hour) },
	},
	{
		Key: "maxStale", About: "how stale answers to resolve and check calls may be",
		field: func(c *Config) any { return &c.MaxStale },
		check: func(c *Config) error { return between(c.MaxStale, 0, 30*day) },
	},
	{
		Key: "sweepEvery", About: "how often to sweep; 0s means never",
		field: func(c *Config) any { return &c.SweepEvery },
		check: func(c *Config) error {
			if c.SweepEvery == 0 {
				return nil
			}
			return between(c.SweepEvery, shortest, day)
		},
	},
	{
		Key: "drainTimeout", About: "how long requests in flight may take at shutdown",
		field: func(c *Config) any { return &c.DrainTimeout },
		check: func(c *Config) error { return between(c.DrainTimeout, 0, time.Hour) },
	},
	{
		Key: "maxBody", About: "maximum size of a request's body",
		field: func(c *Config) any { return &c.MaxBody },
		check: func(c *Config) error { return between(c.MaxBody, 1<<10, 1<<30) },
	},
	{
		Key: "requestTimeout", About: "how long a request may take",
		field: func(c *Config) any { return &c.RequestTimeout },
		check: func(c *Config) error { return between(c.RequestTimeout, shortest, time.Hour) },
	},
	{
		Key: "readHeaderTimeout", About: "how long a client may take to send headers",
		field: func(c *Config) any { return &c.ReadHeaderTimeout },
		check: func(c *Config) error { return between(c.ReadHeaderTimeout, shortest, time.Hour) },
	},
	{
		Key: "idleTimeout", About: "how long an idle connection stays open",
		field: func(c *Config) any { return &c.IdleTimeout },
		check: func(c *Config) error { return between(c.IdleTimeout, shortest, day) },
	},
	{
		Key: "logLevel", About: "minimum level of the log: debug, info, warn, error",
		field: func(c *Config) any { return &c.LogLevel },
		check: func(c *Config) error {
			if !slices.Contains([]slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}, c.LogLevel) {
				return errLevel
			}
			return nil
		},
	},
	{
		Key: "logFormat", About: "text or json",
		field: func(c *Config) any { return &c.LogFormat },
		check: func(c *Config) error { return oneOf(c.LogFormat, "text", "json") },
	},
	{
		Key: "suggestions", About: "how many free names to offer if one is taken, 0 to 10",
		field: func(c *Config) any { return &c.Suggestions },
		check: func(c *Config) error { return between(c.Suggestions, 0, 10) },
	},
}

// Settings returns all settings, in the order of the sample. Routes, policies and blind keys are
// set only in the file; the keys also by DIBS_BLIND_KEYS.
func Settings() []Setting {
	d := defaults()
	list := slices.Clone(settings)
	for i := range list {
		s := &list[i]
		s.Env = "DIBS_" + strings.ToUpper(separate(s.Key, '_'))
		s.Flag = strings.ToLower(separate(s.Key, '-'))
		s.Default = formatValue(s.field(&d))
	}
	return list
}

// separate puts a character before each upper-case letter.
func separate(key string, with rune) string {
	var b strings.Builder
	for _, r := range key {
		if unicode.IsUpper(r) {
			b.WriteRune(with)
		}
		b.WriteRune(r)
	}
	return b.String()
}

// formatValue formats the value of a setting as in a file.
func formatValue(field any) string {
	switch v := field.(type) {
	case *time.Duration:
		return formatDuration(*v)
	case *slog.Level:
		return strings.ToLower(v.String())
	case *int:
		return strconv.Itoa(*v)
	case *Size:
		return v.String()
	default:
		return *field.(*string)
	}
}

// parseValue parses a text of the environment or the command line. An invalid text leaves the
// field unchanged.
func parseValue(text string, field any) error {
	switch v := field.(type) {
	case *time.Duration:
		return assign(v, text, parseDuration)
	case *int:
		return assign(v, text, parseCount)
	case *slog.Level:
		if v.UnmarshalText([]byte(text)) != nil {
			return errLevel
		}
	case *Size:
		return v.UnmarshalText([]byte(text))
	default:
		*field.(*string) = text
	}
	return nil
}

func assign[T any](field *T, text string, parse func(string) (T, error)) error {
	value, err := parse(text)
	if err == nil {
		*field = value
	}
	return err
}

// value reads a setting of the file.
func (s *section) value(key string, field any) {
	switch v := field.(type) {
	case *time.Duration:
		s.duration(key, v)
	case *slog.Level:
		s.level(key, v)
	case *int:
		s.integer(key, v)
	case *Size:
		s.size(key, v)
	default:
		s.text(key, field.(*string))
	}
}

// check checks the settings once all sources are read.
func (l *loader) check() {
	for _, s := range settings {
		if err := s.check(&l.config); err != nil {
			l.report(l.origins[s.Key], "%v", err)
		}
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

func oneOf(value, first, second string) error {
	if value != first && value != second {
		return fmt.Errorf("is %q; it must be %q or %q", value, first, second)
	}
	return nil
}

func between[T time.Duration | Size | int](value, least, most T) error {
	if value < least || value > most {
		return fmt.Errorf("is %s; it must be between %s and %s", formatValue(&value), formatValue(&least), formatValue(&most))
	}
	return nil
}
