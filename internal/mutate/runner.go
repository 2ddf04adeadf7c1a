package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// runner runs the tests with a changed file.
type runner struct {
	packages []string
	timeout  time.Duration
}

// try reports whether the tests fail with the change, or without any if it is nil.
func (r runner) try(ctx context.Context, m *mutant) (killed bool, output []byte, err error) {
	args := []string{"test", "-count=1", "-failfast", "-vet=off", "-timeout=" + r.timeout.String()}
	if m != nil {
		dir, err := os.MkdirTemp("", "mutate")
		if err != nil {
			return false, nil, err
		}
		defer os.RemoveAll(dir)
		overlay, err := m.overlay(dir)
		if err != nil {
			return false, nil, err
		}
		args = append(args, "-overlay="+overlay)
	}
	// go test itself ends a hanging test; this timeout is for one that it cannot end.
	limited, cancel := context.WithTimeout(ctx, 2*r.timeout+time.Minute)
	defer cancel()
	output, err = exec.CommandContext(limited, "go", append(args, r.packages...)...).CombinedOutput()
	if ctx.Err() != nil {
		return false, output, ctx.Err()
	}
	if _, failed := errors.AsType[*exec.ExitError](err); failed {
		return true, output, nil
	}
	return false, output, err
}

// overlay writes what go build needs to see the changed file in place of the real
// one, and returns its path.
func (m *mutant) overlay(dir string) (string, error) {
	original, err := filepath.Abs(m.path)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(dir, "changed.go")
	if err := os.WriteFile(changed, m.source, 0o600); err != nil {
		return "", err
	}
	data, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, data, 0o600)
}
