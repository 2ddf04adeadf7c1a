//go:build unix

package pgtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/calldibs/dibs/internal/harness"
)

// guardScript reads which process runs in a home, or an empty line for none. At the end of
// its input it ends that process and removes the home: so nothing survives a test binary,
// even a killed one.
//
// In many containers a process that ended stays as a zombie, because nothing reaps orphans.
// So the removal of PostgreSQL's own file counts as an end, too.
const guardScript = `
while read -r line; do pid=$line; done
if [ -n "$pid" ]; then
	kill -s QUIT -- "-$pid"
	tries=0
	while kill -s 0 -- "-$pid" && [ -e "$2/postmaster.pid" ] && [ $tries -lt 1000 ]; do
		sleep 0.01
		tries=$((tries + 1))
	done
	kill -s KILL -- "-$pid"
fi
rm -rf -- "$1"
`

// guardedScript tells the guard its process ID before it becomes the command, so that the
// guard always knows the process.
const guardedScript = `echo $$ >&3 && exec "$@" 3>&-`

// maxSocketPath is the length that every system supports.
const maxSocketPath = 103

// home is a folder of the user that runs PostgreSQL, with a guard.
type home struct {
	dir        string
	kept       string // where the data stays; empty if it is in dir
	env        []string
	bin        string // PostgreSQL's programs
	credential *syscall.Credential
	log        *os.File
	guard      *exec.Cmd
	toGuard    *os.File
}

// newHome makes a home. If it is volatile, it need not survive a power failure.
func newHome(kept string, volatile bool) (*home, error) {
	bin, err := findPrograms()
	if err != nil {
		return nil, err
	}
	credential, err := findUser()
	if err != nil {
		return nil, err
	}
	parent := ""
	if volatile {
		parent = memoryFolder()
	}
	dir, err := os.MkdirTemp(parent, "dibs-pg-") // short, because the path of a socket must be
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil { // the path that /proc shows
		return nil, err
	}
	h := &home{dir: dir, kept: kept, bin: bin, credential: credential}
	if err := h.furnish(); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return h, nil
}

// memoryFolder returns a folder in memory, where the thousand files of a cluster take half of the processor time to
// copy, and those of a table less to make and remove. It is empty, which means the usual one, if there is none with
// enough room, or TMPDIR names another one.
func memoryFolder() string {
	const folder, enough = "/dev/shm", 2 << 30
	var space syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" || syscall.Statfs(folder, &space) != nil || space.Bavail*uint64(space.Bsize) < enough {
		return ""
	}
	return folder
}

func (h *home) furnish() error {
	if socket := filepath.Join(h.dir, socketName); len(socket) > maxSocketPath {
		return fmt.Errorf("%s is too long for a socket: set TMPDIR to a shorter path", socket)
	}
	for _, folder := range []string{h.dir, h.kept} {
		if err := h.own(folder); err != nil {
			return err
		}
	}
	log, err := os.OpenFile(filepath.Join(h.dir, "log"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	h.log = log
	fromUs, toGuard, err := os.Pipe()
	if err != nil {
		return err
	}
	defer fromUs.Close()
	h.toGuard = toGuard
	h.guard = exec.Command("sh", "-c", guardScript, "sh", h.dir, h.data())
	h.guard.Dir = "/"
	h.guard.Stdin = fromUs
	h.guard.SysProcAttr = h.detached()
	return h.guard.Start()
}

// own creates a folder, if it is missing, for the user that runs PostgreSQL.
func (h *home) own(folder string) error {
	if folder == "" {
		return nil
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if c := h.credential; c != nil {
		return os.Chown(folder, int(c.Uid), int(c.Gid))
	}
	return nil
}

// detached runs a process as PostgreSQL's user, and without a terminal's Ctrl-C.
func (h *home) detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: h.credential, Setpgid: true}
}

func (h *home) data() string {
	if h.kept != "" {
		return filepath.Join(h.kept, "data")
	}
	return filepath.Join(h.dir, "data")
}

// remove ends the process in the home, and removes the home.
func (h *home) remove() {
	_ = h.toGuard.Close()
	_ = h.guard.Wait() // its exit code means nothing
	_ = h.log.Close()
}

// process runs in a home, at most one at a time.
type process struct {
	cmd    *exec.Cmd
	ended  chan struct{} // closed when it has ended
	err    error         // how it ended
	killed bool
}

// start starts one of PostgreSQL's programs, or one from the PATH.
func (h *home) start(program string, args ...string) (*process, error) {
	if path := filepath.Join(h.bin, program); isFile(path) {
		program = path
	}
	cmd := exec.Command("sh", append([]string{"-c", guardedScript, "sh", program}, args...)...)
	cmd.Dir = h.dir
	// Settings for clients, like PGHOST and PGOPTIONS, must not apply here.
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}, h.env...)
	cmd.Stdout, cmd.Stderr = h.log, h.log
	cmd.ExtraFiles = []*os.File{h.toGuard}
	cmd.SysProcAttr = h.detached()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, ended: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		_, _ = h.toGuard.WriteString("\n") // another process may soon get its ID
		close(p.ended)
	}()
	return p, nil
}

// run runs a program until it ends.
func (h *home) run(program string, args ...string) error {
	p, err := h.start(program, args...)
	if err != nil {
		return err
	}
	if <-p.ended; p.err != nil {
		return fmt.Errorf("%s: %w; the end of its output:\n%s", program, p.err, h.logTail())
	}
	return nil
}

func (h *home) logTail() []byte {
	text, err := os.ReadFile(h.log.Name())
	if err != nil {
		return []byte(err.Error())
	}
	return lastLines(text, 30)
}

func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

func (p *process) awaitEnd() error {
	return await("PostgreSQL has ended", func() (bool, error) { return p.hasEnded(), nil })
}

func (p *process) signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

func (p *process) kill() error {
	p.killed = true
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	return p.awaitEnd()
}

// findUser returns the user that runs PostgreSQL, which refuses to run as root.
func findUser() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("%w: PostgreSQL does not run as root, its package creates the user postgres", err)
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// Own gives a folder to the user that runs PostgreSQL, for [Options.Folder] or another one that
// PostgreSQL reads.
func Own(tb harness.TB, folder string) {
	tb.Helper()
	credential, err := findUser()
	if err != nil {
		tb.Fatal(err)
	}
	if credential == nil {
		return
	}
	err = filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chown(path, int(credential.Uid), int(credential.Gid)))
	})
	if err != nil {
		tb.Fatal(err)
	}
}
