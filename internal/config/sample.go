package config

import _ "embed"

// Sample is a configuration file with every setting commented out. It is a copy of
// dibs.sample.toml in the root of the repository.
//
//go:embed dibs.sample.toml
var Sample string
