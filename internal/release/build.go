package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// release is a release that is being made.
type release struct {
	version string
	targets []target
	out     string // the folder for its files
	work    string // a temporary folder: a folder with the program of each platform, man, completions
	nfpm    string // the program that makes packages

	commit string
	date   time.Time // of the commit; that of all files
}

// target is a platform.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "/" + t.arch }

func parseTarget(text string) (target, error) {
	system, arch, found := strings.Cut(text, "/")
	if !found || system == "" || arch == "" {
		return target{}, fmt.Errorf("%q is not a platform: write linux/amd64", text)
	}
	return target{system, arch}, nil
}

var semver = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$`)

// prepare checks that the source can be released, and empties the folder for the files.
func (r *release) prepare(ctx context.Context, snapshot bool) (err error) {
	if !semver.MatchString(r.version) {
		return fmt.Errorf("-version is %q: write 0.1.0 or 0.1.0-rc.1", r.version)
	}
	if !snapshot {
		if err := r.checkSource(ctx); err != nil {
			return err
		}
	}
	if err := r.readCommit(ctx); err != nil {
		return err
	}
	if r.work, err = os.MkdirTemp("", "dibs-release"); err != nil {
		return err
	}
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	return os.MkdirAll(r.out, 0o755)
}

// checkSource refuses a source that is not committed, or without the version in its changelog.
func (r *release) checkSource(ctx context.Context) error {
	changed, err := output(ctx, "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("these files are not committed (-snapshot builds them for a try):\n%s", changed)
	}
	changes, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		return err
	}
	return checkChanges(string(changes), r.version)
}

// checkChanges checks that the changelog begins with an empty section for what comes next, and then
// has that of the version, with its date.
func checkChanges(changes, version string) error {
	_, rest, found := strings.Cut(changes, "\n## Unreleased\n")
	if !found {
		return errors.New(`CHANGELOG.md has no heading "## Unreleased"`)
	}
	unreleased, section, _ := strings.Cut(rest, "\n## ")
	if strings.TrimSpace(unreleased) != "" {
		return fmt.Errorf("CHANGELOG.md has unreleased changes: move them below the heading \"## %s — %s\"", version, time.Now().Format(time.DateOnly))
	}
	heading, _, _ := strings.Cut(section, "\n")
	name, day, _ := strings.Cut(heading, " — ")
	if _, err := time.Parse(time.DateOnly, day); err != nil || name != version {
		return fmt.Errorf("CHANGELOG.md has \"## %s\" after the unreleased changes, want \"## %s — YYYY-MM-DD\"", heading, version)
	}
	return nil
}

func (r *release) readCommit(ctx context.Context) error {
	text, err := output(ctx, "git", "log", "-1", "--format=%H %cI")
	if err != nil {
		return err
	}
	var date string
	r.commit, date, _ = strings.Cut(strings.TrimSpace(text), " ")
	r.date, err = time.Parse(time.RFC3339, date)
	r.date = r.date.UTC()
	return err
}

// buildAll builds the programs of all platforms.
func (r *release) buildAll(ctx context.Context) error {
	for _, t := range r.targets {
		if err := r.build(ctx, t, r.program(t)); err != nil {
			return err
		}
	}
	return nil
}

// program returns the path of the program for a platform.
func (r *release) program(t target) string {
	path := filepath.Join(r.work, r.name(t), "dibs")
	if t.os == "windows" {
		path += ".exe"
	}
	return path
}

// buildTags leave out what gRPC shows on a page for debugging: with it the linker would keep every
// method of every type.
const buildTags = "grpcnotrace"

// maxSize is the maximum size of a program in bytes.
const maxSize = 40_000_000

func (r *release) build(ctx context.Context, t target, path string) error {
	const variables = "github.com/calldibs/dibs/internal/build."
	flags := fmt.Sprintf("-s -w -X %[1]sversion=%[2]s -X %[1]scommit=%[3]s -X %[1]sdate=%[4]s",
		variables, r.version, r.commit, r.date.Format(time.RFC3339))
	cmd := command(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags", buildTags, "-ldflags", flags, "-o", path, "./cmd/dibs")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS="+t.os, "GOARCH="+t.arch)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("building for %s: %w", t, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	fmt.Printf("%-14s %5.1f MB\n", t, float64(info.Size())/1e6)
	if info.Size() > maxSize {
		return fmt.Errorf("the program for %s has %d bytes, more than %d", t, info.Size(), maxSize)
	}
	return nil
}

// writeManual writes manual pages and completions, by a program for this machine.
func (r *release) writeManual(ctx context.Context) error {
	here := target{runtime.GOOS, runtime.GOARCH}
	program := r.program(here)
	if _, err := os.Stat(program); err != nil {
		if err := r.build(ctx, here, program); err != nil {
			return err
		}
	}
	if err := command(ctx, program, "manual", filepath.Join(r.work, "man")).Run(); err != nil {
		return err
	}
	folder := filepath.Join(r.work, "completions")
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	for shell, name := range map[string]string{"bash": "dibs.bash", "zsh": "_dibs", "fish": "dibs.fish"} {
		text, err := output(ctx, program, "completion", shell)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// command returns a command whose output is that of this program.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd
}

// output runs a command and returns its output.
func output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := command(ctx, name, args...)
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return out.String(), nil
}
