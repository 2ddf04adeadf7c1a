package config

import (
	"strconv"
	"strings"
	"unicode"
)

// Setting is one setting of file, environment and command line.
type Setting struct {
	Key     string // in the file: "maxStale"
	Env     string // in the environment: "DIBS_MAX_STALE"
	Flag    string // on the command line, without leading hyphens: "max-stale"
	Default string
	About   string // the help text
}

// Settings returns all settings, in the order of the sample. Routes, policies and blind keys are
// set only in the file; the keys also by DIBS_BLIND_KEYS.
func Settings() []Setting {
	d := defaults()
	settings := []Setting{
		{Key: "listen", Default: d.Listen, About: "address to listen on, host:port"},
		{Key: "keyless", Default: d.Keyless, About: "local: require a key except on localhost; never: always require a key"},
		{Key: "store", Default: d.Store, About: "where names are kept: sqlite:FILE, postgres://…, etcd://… or mem:"},
		{Key: "wait", Default: formatDuration(d.Wait), About: "how long to wait at start for a store that does not answer; 0s means not at all"},
		{Key: "maxStale", Default: formatDuration(d.MaxStale), About: "how stale answers to resolve and check calls may be"},
		{Key: "sweepEvery", Default: formatDuration(d.SweepEvery), About: "how often to sweep; 0s means never"},
		{Key: "drainTimeout", Default: formatDuration(d.DrainTimeout), About: "how long requests in flight may take at shutdown"},
		{Key: "maxBody", Default: d.MaxBody.String(), About: "maximum size of a request's body"},
		{Key: "requestTimeout", Default: formatDuration(d.RequestTimeout), About: "how long a request may take"},
		{Key: "readHeaderTimeout", Default: formatDuration(d.ReadHeaderTimeout), About: "how long a client may take to send headers"},
		{Key: "idleTimeout", Default: formatDuration(d.IdleTimeout), About: "how long an idle connection stays open"},
		{Key: "logLevel", Default: strings.ToLower(d.LogLevel.String()), About: "minimum level of the log: debug, info, warn, error"},
		{Key: "logFormat", Default: d.LogFormat, About: "text or json"},
		{Key: "suggestions", Default: strconv.Itoa(d.Suggestions), About: "how many free names to offer if one is taken, 0 to 10"},
	}
	for i := range settings {
		s := &settings[i]
		s.Env = "DIBS_" + strings.ToUpper(separate(s.Key, '_'))
		s.Flag = strings.ToLower(separate(s.Key, '-'))
	}
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
