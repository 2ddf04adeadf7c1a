package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/calldibs/dibs/internal/overlay"
)

// runner runs single tests, with a bug or without.
type runner struct {
	folder  string // for everything that it makes
	timeout time.Duration

	sound    sync.Map // by test: func() error, which runs it without a bug, once for all bugs
	programs sync.Map // by package: func() (string, error), which compiles its tests without a bug, or the server, once
}

// check returns why the named test does not find the bug, or nil if it does.
func (r *runner) check(ctx context.Context, b bug) error {
	content, err := b.plant(".")
	if err != nil {
		return err
	}
	if err := r.passes(ctx, b); err != nil {
		return fmt.Errorf("%s fails without the bug: %w", b.Test, err)
	}
	failed, err := r.run(ctx, b, content)
	if err == nil && !failed {
		err = fmt.Errorf("%s passes", b.Test)
	}
	return err
}

// passes returns an error if the bug's test does not pass without the bug.
func (r *runner) passes(ctx context.Context, b bug) error {
	run, _ := r.sound.LoadOrStore(b.Package+" "+b.Test, sync.OnceValue(func() error {
		failed, err := r.run(ctx, b, nil)
		if failed {
			err = errors.New("it must pass")
		}
		return err
	}))
	return run.(func() error)()
}

// run runs the bug's test, with the changed file if there is one. An error means that the test did
// not run.
func (r *runner) run(ctx context.Context, b bug, content []byte) (failed bool, err error) {
	folder, err := os.MkdirTemp(r.folder, "")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(folder)
	ctx, cancel := context.WithTimeout(ctx, 2*r.timeout)
	defer cancel()
	switch {
	case strings.HasPrefix(b.Package, "clients/typescript"):
		return r.runNode(ctx, b, content, folder)
	case strings.HasPrefix(b.Package, "clients/python"):
		return r.runPython(ctx, b, content, folder)
	default:
		return r.runGo(ctx, b, content, folder)
	}
}

func (r *runner) runGo(ctx context.Context, b bug, content []byte, folder string) (failed bool, err error) {
	program, err := r.tests(ctx, b, content, folder)
	if err != nil {
		return false, err
	}
	// Without go test: if that is killed, its tests go on.
	output, failed, err := execute(ctx, b.Package, nil, program, "-test.v", "-test.timeout="+r.timeout.String(), "-test.run="+pattern(b.Test))
	top, _, _ := strings.Cut(b.Test, "/")
	switch {
	case err != nil:
		return false, err
	case failed && !bytes.Contains(output, []byte("=== RUN   "+top+"\n")):
		return false, fmt.Errorf("the test did not begin:\n%s", output)
	case bytes.Contains(output, []byte("panic: test timed out")):
		return false, errors.New("the test does not end")
	case !failed && !bytes.Contains(output, []byte("--- PASS: "+b.Test)):
		return false, fmt.Errorf("there is no such test:\n%s", output)
	}
	return failed, nil
}

// tests returns the compiled tests of the bug's package, with the changed file if there is one.
func (r *runner) tests(ctx context.Context, b bug, content []byte, folder string) (program string, err error) {
	if content == nil {
		return r.compiled(ctx, b.Package, "test", "-c", "-vet=off")
	}
	list, err := overlay.Write(folder, map[string][]byte{b.File: content})
	if err != nil {
		return "", err
	}
	return compile(ctx, filepath.Join(folder, "tests"), b.Package, "test", "-c", "-vet=off", "-overlay="+list)
}

// compiled returns the program that the go command makes of a package without a bug.
func (r *runner) compiled(ctx context.Context, pkg string, args ...string) (program string, err error) {
	once, _ := r.programs.LoadOrStore(pkg, sync.OnceValues(func() (string, error) {
		return compile(ctx, filepath.Join(r.folder, strings.ReplaceAll("of_"+pkg, "/", "_")), pkg, args...)
	}))
	return once.(func() (string, error))()
}

// compile runs the go command, and returns the absolute path of the program that it makes of a package.
func compile(ctx context.Context, program, pkg string, args ...string) (string, error) {
	program, err := filepath.Abs(program)
	if err != nil {
		return "", err
	}
	output, failed, err := execute(ctx, ".", nil, "go", append(args, "-o", program, "./"+pkg)...)
	if failed {
		err = fmt.Errorf("%s does not compile:\n%s", pkg, output)
	}
	return program, err
}

// pattern matches a test and nothing else.
func pattern(test string) string {
	parts := strings.Split(test, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// runNode compiles a copy of the client, and runs a test whose name is its file and its title.
func (r *runner) runNode(ctx context.Context, b bug, content []byte, folder string) (failed bool, err error) {
	own, err := copyClient(b, content, folder)
	if err != nil {
		return false, err
	}
	modules, err := filepath.Abs(filepath.Join(b.Package, "node_modules"))
	if err == nil {
		err = os.Symlink(modules, filepath.Join(own, "node_modules"))
	}
	if err != nil {
		return false, err
	}
	output, failed, err := execute(ctx, own, nil, filepath.Join(modules, ".bin", "tsc"), "-p", "tsconfig.test.json")
	if err != nil || failed {
		return false, errors.Join(err, fmt.Errorf("it does not compile (run npm ci in %s first):\n%s", b.Package, output))
	}
	file, title, _ := strings.Cut(b.Test, ": ")
	return r.runWithServer(ctx, own, "# pass 1\n", "node", "--test", "--test-reporter=tap",
		"--test-name-pattern=^"+regexp.QuoteMeta(title)+"$", "build/test/"+file+".test.js")
}

// runPython runs a test of a copy of the client.
func (r *runner) runPython(ctx context.Context, b bug, content []byte, folder string) (failed bool, err error) {
	own, err := copyClient(b, content, folder)
	if err != nil {
		return false, err
	}
	python := cmp.Or(os.Getenv("PYTHON"), "python3")
	if output, failed, err := execute(ctx, own, nil, python, "-m", "py_compile", filepath.Base(b.File)); err != nil || failed {
		return false, errors.Join(err, fmt.Errorf("it does not compile:\n%s", output))
	}
	return r.runWithServer(ctx, filepath.Join(own, "tests"), "\nOK\n", python, "-m", "unittest", b.Test)
}

// copyClient copies a client, with the changed file if there is one.
func copyClient(b bug, content []byte, folder string) (own string, err error) {
	own = filepath.Join(folder, b.Package)
	err = filepath.WalkDir(b.Package, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(folder, path)
		if entry.IsDir() {
			switch entry.Name() {
			case "node_modules", "build", "dist", "__pycache__":
				return filepath.SkipDir
			}
			return os.MkdirAll(to, 0o700)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if path == filepath.FromSlash(b.File) && content != nil {
			data = content
		}
		return os.WriteFile(to, data, 0o600)
	})
	return own, err
}

// runWithServer runs a test that starts servers. Its output tells that it ran: "passed" is in it if it
// passed.
func (r *runner) runWithServer(ctx context.Context, folder, passed, program string, args ...string) (failed bool, err error) {
	binary, err := r.compiled(ctx, "cmd/dibs", "build")
	if err != nil {
		return false, err
	}
	output, failed, err := execute(ctx, folder, []string{"DIBS_BINARY=" + binary}, program, args...)
	if err == nil && !failed && !bytes.Contains(output, []byte(passed)) {
		err = fmt.Errorf("there is no such test:\n%s", output)
	}
	return failed, err
}

// execute runs a program and reports whether it failed. An error means that it did not run to its
// end.
func execute(ctx context.Context, folder string, env []string, program string, args ...string) (output []byte, failed bool, err error) {
	command := exec.CommandContext(ctx, program, args...)
	command.Dir, command.Env = folder, append(os.Environ(), env...)
	command.WaitDelay = time.Second
	output, err = command.CombinedOutput()
	if ctx.Err() != nil {
		return output, false, fmt.Errorf("%s did not end: %w", program, ctx.Err())
	}
	if _, exited := errors.AsType[*exec.ExitError](err); exited {
		return output, true, nil
	}
	return output, false, err
}
