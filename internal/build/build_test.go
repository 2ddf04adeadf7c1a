package build

import (
	"reflect"
	"runtime/debug"
	"testing"
)

func TestRead(t *testing.T) {
	deps := []*debug.Module{
		{Path: "modernc.org/sqlite", Version: "v1.60.1"},
		{Path: "github.com/spf13/cobra", Version: "v1.10.2"},
	}
	revision := []debug.BuildSetting{
		{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-03-01T12:00:00Z"}, {Key: "vcs.modified", Value: "true"},
	}
	type want struct {
		version, commit, date string
		modified              bool
	}
	for name, c := range map[string]struct {
		noted                 debug.BuildInfo
		version, commit, date string // of the linker
		want                  want
	}{
		"go build without version control": {noted: debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, want: want{version: Development}},
		"go install of a version":          {noted: debug.BuildInfo{Main: debug.Module{Version: "v0.1.0"}}, want: want{version: "0.1.0"}},
		"go build in a clone": {
			noted: debug.BuildInfo{Main: debug.Module{Version: "v0.1.1-0.20260301120000-abc+dirty"}, Settings: revision},
			want:  want{"0.1.1-0.20260301120000-abc+dirty", "abc", "2026-03-01T12:00:00Z", true},
		},
		"a release": {
			noted:   debug.BuildInfo{Main: debug.Module{Version: "(devel)"}},
			version: "0.1.0", commit: "def", date: "2026-03-02T12:00:00Z",
			want: want{"0.1.0", "def", "2026-03-02T12:00:00Z", false},
		},
		"a release built by Go with version control": {
			noted:   debug.BuildInfo{Main: debug.Module{Version: "v0.0.9+dirty"}, Settings: revision},
			version: "0.1.0", commit: "def", date: "2026-03-02T12:00:00Z",
			want: want{"0.1.0", "def", "2026-03-02T12:00:00Z", false},
		},
	} {
		version, commit, date = c.version, c.commit, c.date
		c.noted.Deps = deps
		got := read(&c.noted)
		if got := (want{got.Version, got.Commit, got.Date, got.Modified}); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		engines := []Engine{{"sqlite", "modernc.org/sqlite", "v1.60.1"}, {Name: "mem"}}
		if !reflect.DeepEqual(got.Engines, engines) {
			t.Errorf("%s: engines %v, want those that are part of the program: %v", name, got.Engines, engines)
		}
	}
	version, commit, date = "", "", ""
}
