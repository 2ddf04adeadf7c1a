package config

import (
	"strconv"
	"strings"
	"unicode"
)

// Setting is one setting that file, environment and command line have in common.
type Setting struct {
	Key     string // in the file: "maxStale"
	Env     string // in the environment: "DIBS_MAX_STALE"
	Flag    string // on the command line, without hyphens in front: "max-stale"
	Default string
	About   string // what it is for, in a few words
}

// Settings returns all of them, in the order in which the sample has them. Routes,
// policies and blind keys are set in the file alone, the keys also by DIBS_BLIND_KEYS.
func Settings() []Setting {
	d := defaults()
	settings := []Setting{
		{Key: "listen", Default: d.Listen, About: "address to listen on, host:port"},
		{Key: "keyless", Default: d.Keyless, About: "who may call while there is no API key: local (this machine, and no proxy on it), or never"},
		{Key: "store", Default: d.Store, About: "where names are kept: sqlite:FILE, postgres://…, etcd://… or mem:"},
		{Key: "maxStale", Default: formatDuration(d.MaxStale), About: "how long others may keep what a resolve call answered"},
		{Key: "sweepEvery", Default: formatDuration(d.SweepEvery), About: "how often to tidy up what is over; 0s for never"},
		{Key: "drainTimeout", Default: formatDuration(d.DrainTimeout), About: "how long requests under way may take when the server ends"},
		{Key: "maxBody", Default: d.MaxBody.String(), About: "how large the body of a request may be"},
		{Key: "requestTimeout", Default: formatDuration(d.RequestTimeout), About: "how long one request may take"},
		{Key: "readHeaderTimeout", Default: formatDuration(d.ReadHeaderTimeout), About: "how long a client may take to send headers"},
		{Key: "idleTimeout", Default: formatDuration(d.IdleTimeout), About: "how long a connection without requests stays open"},
		{Key: "logLevel", Default: strings.ToLower(d.LogLevel.String()), About: "least level that is logged: debug, info, warn, error"},
		{Key: "logFormat", Default: d.LogFormat, About: "text or json"},
		{Key: "suggestions", Default: strconv.Itoa(d.Suggestions), About: "how many free names to offer where one is taken, 0 to 10"},
	}
	for i := range settings {
		s := &settings[i]
		s.Env = "DIBS_" + strings.ToUpper(separate(s.Key, '_'))
		s.Flag = strings.ToLower(separate(s.Key, '-'))
	}
	return settings
}

// separate puts a character in front of each capital.
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
