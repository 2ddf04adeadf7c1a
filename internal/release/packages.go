package main

import (
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// packages makes the packages of a platform, as packaging/nfpm.yaml describes them.
func (r *release) packages(ctx context.Context, t target, notices []byte) error {
	pages := filepath.Join(r.work, "pages")
	if err := compressPages(filepath.Join(r.work, "man"), pages); err != nil {
		return err
	}
	copyright := filepath.Join(r.work, r.name(t), "copyright")
	own, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	if err := os.WriteFile(copyright, append(own, append([]byte("\n"), notices...)...), 0o644); err != nil {
		return err
	}
	for _, kind := range []string{"deb", "rpm"} {
		cmd := command(ctx, r.nfpm, "package", "--config", "packaging/nfpm.yaml", "--packager", kind, "--target", r.file(t, "."+kind))
		cmd.Env = append(os.Environ(), "ARCH="+t.arch, "VERSION="+r.version, "PROGRAM="+r.program(t), "COPYRIGHT="+copyright,
			"PAGES="+pages, "COMPLETIONS="+filepath.Join(r.work, "completions"), fmt.Sprint("SOURCE_DATE_EPOCH=", r.date.Unix()))
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("making a %s package: %w", kind, err)
		}
	}
	return nil
}

// compressPages compresses manual pages, as packages have them, into folders by their sections.
func compressPages(from, to string) error {
	files, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, f := range files {
		folder := filepath.Join(to, "man"+strings.TrimPrefix(filepath.Ext(f.Name()), "."))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		if err := compress(filepath.Join(from, f.Name()), filepath.Join(folder, f.Name()+".gz")); err != nil {
			return err
		}
	}
	return nil
}

func compress(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	w, err := gzip.NewWriterLevel(file, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return file.Close()
}
