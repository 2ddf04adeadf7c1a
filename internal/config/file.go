package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// file is a well-formed configuration file.
type file struct {
	path  string
	lines lines
	// The tables that are read after the settings of all sources.
	fallback  *section
	policies  *section
	witnesses *section
	blindKeys []*section
	routes    []*section
}

// readFile reads the file at path; an empty path means none.
func (l *loader) readFile(path string) {
	if path == "" {
		return
	}
	document, err := os.ReadFile(path)
	if err != nil {
		l.report(origin{file: path}, "cannot be read: %v", cause(err))
		return
	}
	tree := make(map[string]any)
	if err := toml.Unmarshal(document, &tree); err != nil {
		at := origin{file: path}
		if syntax, ok := errors.AsType[*toml.DecodeError](err); ok {
			at.line, _ = syntax.Position()
		}
		l.report(at, "%s", strings.TrimPrefix(err.Error(), "toml: "))
		return
	}
	l.file = &file{path: path, lines: linesOf(document)}
	l.readSettings(&section{loader: l, values: tree})
}

// readSettings reads the top level of the file.
func (l *loader) readSettings(s *section) {
	for _, setting := range settings {
		s.value(setting.Key, setting.field(&l.config))
		if s.has(setting.Key) {
			l.origins[setting.Key] = s.at(setting.Key)
		}
	}
	l.readSignIn(s)
	l.readWebhooks(s.table("webhooks"))
	l.readTracing(s.table("tracing"))
	l.readLimits(s.table("limits"))
	l.file.fallback = s.table("default")
	l.file.policies = s.table("policies")
	l.file.witnesses = s.table("witnesses")
	l.file.blindKeys = s.tables("blindKeys")
	l.file.routes = s.tables("routes")
	s.finish()
}

// readSecret reads a file that contains a secret, and trims the space around it.
func readSecret(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("%s cannot be read: %w", path, cause(err))
	}
	secret := strings.TrimSpace(string(data))
	if secret == "" {
		return "", fmt.Errorf("%s is empty", path)
	}
	return secret, nil
}

// cause returns a file error without its path.
func cause(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err
	}
	return err
}

// resolve returns a path that the file contains. A relative path begins at the file's folder.
func (f *file) resolve(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(f.path), path)
}
