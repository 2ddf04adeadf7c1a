package config

// Exported for tests.
var (
	ParseDuration  = parseDuration
	FormatDuration = formatDuration
)
