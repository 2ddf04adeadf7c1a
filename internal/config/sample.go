package config

import _ "embed"

// Sample is a configuration file with every setting, all of them commented out. It is the
// dibs.sample.toml at the root of the repository.
//
//go:embed dibs.sample.toml
var Sample string
