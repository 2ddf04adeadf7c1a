// Package build tells which build of Dibs the running program is.
package build

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// The linker sets these in a release, as internal/release does. In a program that "go install" or
// "go build" made, they are empty, and what Go noted counts.
var version, commit, date string

// Development is the version of a program that was built from a folder without version control.
const Development = "development"

// Info describes a build.
type Info struct {
	Version  string   `json:"version"`          // without a leading v: "0.1.0", or [Development]
	Commit   string   `json:"commit,omitempty"` // the hash; empty if it is unknown
	Date     string   `json:"date,omitempty"`   // of the commit, in RFC 3339; empty if it is unknown
	Modified bool     `json:"modified"`         // the source differs from the commit
	Go       string   `json:"go"`
	Platform string   `json:"platform"` // "linux/amd64"
	Engines  []Engine `json:"engines"`
}

// Engine is an engine that the program has, with the library that it uses.
type Engine struct {
	Name    string `json:"engine"`            // as in the address of a store
	Library string `json:"library,omitempty"` // the module; empty for an engine without one
	Version string `json:"version,omitempty"` // of the library
}

// engines are the engines by their modules. Go notes only modules that are part of the program.
var engines = []Engine{
	{Name: "sqlite", Library: "modernc.org/sqlite"},
	{Name: "postgres", Library: "github.com/jackc/pgx/v5"},
	{Name: "etcd", Library: "go.etcd.io/etcd/client/v3"},
	{Name: "mem"},
}

// Read returns the build of the running program.
func Read() Info {
	noted, ok := debug.ReadBuildInfo()
	if !ok {
		noted = &debug.BuildInfo{}
	}
	return read(noted)
}

func read(noted *debug.BuildInfo) Info {
	settings := make(map[string]string)
	for _, s := range noted.Settings {
		settings[s.Key] = s.Value
	}
	module := strings.TrimPrefix(noted.Main.Version, "v")
	if module == "(devel)" {
		module = ""
	}
	info := Info{
		Version:  cmp.Or(version, module, Development),
		Commit:   cmp.Or(commit, settings["vcs.revision"]),
		Date:     cmp.Or(date, settings["vcs.time"]),
		Modified: commit == "" && settings["vcs.modified"] == "true",
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	for _, engine := range engines {
		at := slices.IndexFunc(noted.Deps, func(m *debug.Module) bool { return m.Path == engine.Library })
		if at >= 0 {
			engine.Version = noted.Deps[at].Version
		}
		if at >= 0 || engine.Library == "" {
			info.Engines = append(info.Engines, engine)
		}
	}
	return info
}
