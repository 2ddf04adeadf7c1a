package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// entry is a file of an archive.
type entry struct {
	name    string // in the archive
	path    string // on this machine; empty for a file that is only in the archive
	content []byte // of a file without a path
	mode    fs.FileMode
}

// entries returns the files of an archive, in order.
func (r *release) entries(t target, notices []byte) ([]entry, error) {
	list := []entry{
		{name: filepath.Base(r.program(t)), path: r.program(t), mode: 0o755},
		{name: "THIRD-PARTY-NOTICES.txt", content: notices, mode: 0o644},
	}
	add := func(folder, pattern string) error {
		paths, err := filepath.Glob(pattern)
		if err == nil && len(paths) == 0 {
			err = fmt.Errorf("no file is %s", pattern)
		}
		for _, path := range paths {
			list = append(list, entry{name: folder + filepath.Base(path), path: path, mode: 0o644})
		}
		return err
	}
	patterns := [][2]string{
		{"", "LICENSE"},
		{"", "README.md"},
		{"", "CHANGELOG.md"},
		{"", "SECURITY.md"},
		{"", "dibs.sample.toml"},
		{"docs/", "docs/*.md"},
		{"docs/howto/", "docs/howto/*.md"},
		{"docs/decisions/", "docs/decisions/*.md"},
		{"docs/images/", "docs/images/*"},
		{"docs/charts/", "docs/charts/*"},
		{"man/", filepath.Join(r.work, "man", "*")},
		{"completions/", filepath.Join(r.work, "completions", "*")},
	}
	if t.os == "linux" {
		patterns = append(patterns, [2]string{"", "packaging/dibs.service"})
	}
	for _, p := range patterns {
		if err := add(p[0], p[1]); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return list, nil
}

// archive writes the archive of a platform: a zip file for Windows, where everybody can open it.
func (r *release) archive(t target, notices []byte) error {
	entries, err := r.entries(t, notices)
	if err != nil {
		return err
	}
	write, ending := writeTar, ".tar.gz"
	if t.os == "windows" {
		write, ending = writeZip, ".zip"
	}
	file, err := os.OpenFile(r.file(t, ending), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := write(file, r.name(t), r.date, entries); err != nil {
		return err
	}
	return file.Close()
}

// writeTar writes files below a folder into an archive. They have no owner but root.
func writeTar(w io.Writer, folder string, date time.Time, entries []entry) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressed)
	for _, e := range entries {
		content, err := e.read()
		if err != nil {
			return err
		}
		err = archive.WriteHeader(&tar.Header{
			Name: folder + "/" + e.name, Mode: int64(e.mode), Size: int64(len(content)), ModTime: date, Uname: "root", Gname: "root", Format: tar.FormatPAX,
		})
		if err != nil {
			return err
		}
		if _, err := archive.Write(content); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return compressed.Close()
}

func writeZip(w io.Writer, folder string, date time.Time, entries []entry) error {
	archive := zip.NewWriter(w)
	for _, e := range entries {
		content, err := e.read()
		if err != nil {
			return err
		}
		header := &zip.FileHeader{Name: folder + "/" + e.name, Method: zip.Deflate, Modified: date}
		header.SetMode(e.mode)
		file, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := file.Write(content); err != nil {
			return err
		}
	}
	return archive.Close()
}

func (e entry) read() ([]byte, error) {
	if e.path == "" {
		return e.content, nil
	}
	return os.ReadFile(e.path)
}

// writeSums writes the checksums of all files of a folder, for sha256sum --check.
func writeSums(folder string) error {
	files, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, f := range files {
		content, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), f.Name())
	}
	return os.WriteFile(filepath.Join(folder, "SHA256SUMS"), []byte(sums.String()), 0o644)
}
