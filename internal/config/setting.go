package config

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/calldibs/dibs/internal/engine"
	"github.com/calldibs/dibs/internal/limit"
	"github.com/calldibs/dibs/internal/tlsfiles"
	"github.com/calldibs/dibs/internal/tracing"
)

// Setting is one setting of file, environment and command line.
type Setting struct {
	Key     string // in the file: "maxStale"
	Env     string // in the environment: "DIBS_MAX_STALE"
	Flag    string // on the command line, without leading hyphens: "max-stale"
	Default string
	About   string // the help text

	field any          // a pointer to the field of the configuration
	from  origin       // where it was set
	check func() error // checks the value, once all sources are read
}

// IsBool reports whether the setting is true or false.
func (s Setting) IsBool() bool {
	_, ok := s.field.(*bool)
	return ok
}

// OfPolicies reports whether the setting changes the policies: a command on the store itself
// needs it, too.
func (s Setting) OfPolicies() bool { return strings.HasPrefix(s.Key, "allow") }

const shortest = 100 * time.Millisecond

// newConfig returns the default configuration, and its settings in the order of the sample.
func newConfig() (*Config, []Setting) {
	c := &Config{
		TLS:      tlsfiles.Files{Clients: tlsfiles.Off},
		Webhooks: defaultWebhooks(),
		Tracing:  tracing.Config{Sample: 0.01, ServiceName: "dibs"},
		Limits:   limit.Defaults(),
	}
	return c, []Setting{
		define(&c.Listen, "listen", "127.0.0.1:8080", checkListen, "address to listen on, host:port"),
		define(&c.Keyless, "keyless", KeylessLocal, oneOf(KeylessLocal, KeylessNever),
			"local: require a key except on localhost; never: always require a key"),
		define(&c.Store, "store", "sqlite:dibs.db", engine.Check,
			"where names are kept: sqlite:FILE, postgres://…, etcd://… or mem:"),
		define(&c.Wait, "wait", time.Minute, between(0, time.Hour),
			"how long to wait at start for a store that does not answer; 0s means not at all"),
		define(&c.MaxStale, "maxStale", 0, between(0, 30*day), "how stale answers to resolve and check calls may be"),
		define(&c.SweepEvery, "sweepEvery", 10*time.Second, orZero(between(shortest, day)), "how often to sweep; 0s means never"),
		define(&c.DrainTimeout, "drainTimeout", 20*time.Second, between(0, time.Hour),
			"how long requests in flight may take at shutdown"),
		define(&c.MaxBody, "maxBody", 1<<20, between[Size](1<<10, 1<<30), "maximum size of a request's body"),
		define(&c.RequestTimeout, "requestTimeout", 15*time.Second, between(shortest, time.Hour), "how long a request may take"),
		define(&c.ReadHeaderTimeout, "readHeaderTimeout", 5*time.Second, between(shortest, time.Hour),
			"how long a client may take to send headers"),
		define(&c.IdleTimeout, "idleTimeout", 2*time.Minute, between(shortest, day), "how long an idle connection stays open"),
		define(&c.LogLevel, "logLevel", slog.LevelInfo, checkLevel, "minimum level of the log: debug, info, warn, error"),
		define(&c.LogFormat, "logFormat", "text", oneOf("text", "json"), "text or json"),
		define(&c.AllowReserved, "allowReserved", false, anyValue, "give out reserved words as usernames, slugs and host names"),
		define(&c.AllowMixedScripts, "allowMixedScripts", false, anyValue, "give out usernames that mix scripts"),
		define(&c.AllowLookAlikes, "allowLookAlikes", false, anyValue, "give out usernames that look like another one, or like a reserved word"),
		define(&c.Dashboard, "dashboard", On, oneOf(On, Off), "whether / is the dashboard: on or off"),
		define(&c.Suggestions, "suggestions", 3, between(0, 10), "how many free names to offer if one is taken, 0 to 10"),
	}
}

// define sets a field to its default, and returns its setting.
func define[T any](field *T, key string, byDefault T, check func(T) error, about string) Setting {
	*field = byDefault
	return Setting{
		Key: key, Default: formatValue(byDefault), About: about,
		Env:   "DIBS_" + strings.ToUpper(separate(key, '_')),
		Flag:  strings.ToLower(separate(key, '-')),
		field: field,
		check: func() error { return check(*field) },
	}
}

// Settings returns all settings, in the order of the sample. Routes, policies and blind keys are
// set only in the file; the keys also by DIBS_BLIND_KEYS.
func Settings() []Setting {
	_, settings := newConfig()
	return settings
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
func formatValue(value any) string {
	switch v := value.(type) {
	case time.Duration:
		return formatDuration(v)
	case slog.Level:
		return strings.ToLower(v.String())
	default:
		return fmt.Sprint(v)
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
	case *bool:
		return assign(v, text, parseBool)
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

// check checks the settings once all sources are read.
func (l *loader) check() {
	for _, s := range l.settings {
		if err := s.check(); err != nil {
			l.report(s.from, "%v", err)
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

func checkLevel(level slog.Level) error {
	if !slices.Contains([]slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}, level) {
		return errLevel
	}
	return nil
}

func anyValue(bool) error { return nil }

func parseBool(text string) (bool, error) {
	if text != "true" && text != "false" {
		return false, fmt.Errorf("is %q; it must be true or false", text)
	}
	return text == "true", nil
}

func oneOf(first, second string) func(string) error {
	return func(value string) error {
		if value != first && value != second {
			return fmt.Errorf("is %q; it must be %q or %q", value, first, second)
		}
		return nil
	}
}

func between[T time.Duration | Size | int | float64](least, most T) func(T) error {
	return func(value T) error {
		if inside := value >= least && value <= most; !inside { // NaN is not
			return fmt.Errorf("is %s; it must be between %s and %s", formatValue(value), formatValue(least), formatValue(most))
		}
		return nil
	}
}

func orZero(check func(time.Duration) error) func(time.Duration) error {
	return func(value time.Duration) error {
		if value == 0 {
			return nil
		}
		return check(value)
	}
}

const day = 24 * time.Hour

// parseDuration parses "90s", "1h30m", and a leading number of days: "30d", "1d12h".
func parseDuration(text string) (time.Duration, error) {
	number, rest, found := strings.Cut(text, "d")
	switch {
	case !found:
		number, rest = "0", text
	case rest == "":
		rest = "0s"
	}
	n, noNumber := strconv.ParseUint(number, 10, 32)
	d, noDuration := time.ParseDuration(rest)
	days := time.Duration(n) * day
	if noNumber != nil || noDuration != nil || n > uint64(math.MaxInt64/day) || n > 0 && (d < 0 || d > math.MaxInt64-days) {
		return 0, fmt.Errorf(`invalid duration %q: write "90s", "5m", "1h30m" or "30d"`, text)
	}
	return days + d, nil
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

var errNumber = errors.New("must be a number")

var errLevel = errors.New(`must be "debug", "info", "warn" or "error"`)
