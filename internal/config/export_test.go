package config

// These are tested by themselves.
var (
	ParseDuration  = parseDuration
	FormatDuration = formatDuration
)
