// Command release makes a release: programs for all platforms in archives, packages for Debian and
// Red Hat, a list of what is in each program, and checksums. docs/releasing.md says how to use it.
//
// The same commit, built by the same version of Go, gives the same files.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	r := &release{}
	flag.StringVar(&r.version, "version", "", "the `version`, such as 0.1.0")
	flag.StringVar(&r.out, "out", "dist", "the `folder` for the files; what is in it is removed")
	flag.StringVar(&r.nfpm, "nfpm", "bin/nfpm", "the `program` that makes packages")
	targets := flag.String("targets", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64", "the `platforms`")
	snapshot := flag.Bool("snapshot", false, "release any state of the source, to try it: CHANGELOG.md need not have the version")
	flag.Parse()
	for text := range strings.SplitSeq(*targets, ",") {
		t, err := parseTarget(text)
		if err != nil {
			return err
		}
		r.targets = append(r.targets, t)
	}
	if err := r.prepare(ctx, *snapshot); err != nil {
		return err
	}
	defer os.RemoveAll(r.work)
	return r.make(ctx)
}

// make makes all files of the release.
func (r *release) make(ctx context.Context) error {
	if err := r.buildAll(ctx); err != nil {
		return err
	}
	if err := r.writeManual(ctx); err != nil {
		return err
	}
	for _, t := range r.targets {
		if err := r.finish(ctx, t); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	return writeSums(r.out)
}

// finish makes the files for one platform from its program.
func (r *release) finish(ctx context.Context, t target) error {
	notices, err := r.notices(ctx, t)
	if err != nil {
		return err
	}
	if err := r.archive(t, notices); err != nil {
		return err
	}
	if err := r.writeBOM(t); err != nil {
		return err
	}
	if t.os != "linux" {
		return nil
	}
	return r.packages(ctx, t, notices)
}

// file returns the path of a file of the release.
func (r *release) file(t target, ending string) string {
	return filepath.Join(r.out, r.name(t)+ending)
}

// name returns the beginning of the names of all files for a platform.
func (r *release) name(t target) string { return fmt.Sprintf("dibs_%s_%s_%s", r.version, t.os, t.arch) }
