// Package packaging tests the packages for Debian on a copy of this machine.
package packaging

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// packagesVariable names two packages, an older and a newer one, with a colon between them. make
// test-packages builds both.
const packagesVariable = "DIBS_TEST_PACKAGES"

// patience is how long a step may take on a busy machine.
const patience = 3 * time.Minute

// machine is a copy of this machine, in namespaces of its own, in which systemd runs.
type machine struct {
	*testing.T
	systemd string // the process
}

// boot starts a machine, with files in /packages.
func boot(t *testing.T, files ...string) *machine {
	t.Helper()
	log := new(bytes.Buffer)
	group := newGroup(t)
	cmd := exec.Command("sh", append([]string{
		"-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, group,
		"unshare", "--mount", "--pid", "--fork", "--uts", "--ipc", "--net", "--cgroup", "--kill-child",
		"sh", "testdata/boot.sh", t.TempDir(),
	}, files...)...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	m := &machine{T: t}
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", cmd.Process.Pid))
		m.systemd = strings.TrimSpace(string(children))
		if m.systemd != "" {
			if out, _ := m.try("systemctl", "is-system-running"); strings.TrimSpace(out) == "running" {
				return m
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("systemd does not start: %s", log)
		}
	}
}

// newGroup makes a cgroup for a machine, so that those of its services can be removed with it.
func newGroup(t *testing.T) string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		t.Fatal(err)
	}
	at := regexp.MustCompile(`(?m)^\S+ (\S+) cgroup2 `).FindSubmatch(mounts)
	if at == nil {
		t.Fatal("this machine has no file system of the kind cgroup2")
	}
	group, err := os.MkdirTemp(string(at[1]), "dibs-packages-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
			// From the innermost: only empty ones can be removed, after their last process.
			_ = exec.Command("find", group, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";").Run()
			if _, err := os.Stat(group); err != nil {
				return
			}
			if time.Now().After(deadline) {
				t.Errorf("%s still has processes", group)
				return
			}
		}
	})
	return group
}

// try runs a command on the machine.
func (m *machine) try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(m.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "nsenter", append([]string{"--target", m.systemd, "--all", "--root", "--wd"}, args...)...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// run runs a command on the machine, which must succeed.
func (m *machine) run(args ...string) string {
	m.Helper()
	out, err := m.try(args...)
	if err != nil {
		log, _ := m.try("journalctl", "--no-pager", "--lines=50", "--unit=dibs")
		m.Fatalf("%s: %v\n%s\n%s", strings.Join(args, " "), err, out, log)
	}
	return out
}

// fails runs a command on the machine, which must fail.
func (m *machine) fails(args ...string) string {
	m.Helper()
	out, err := m.try(args...)
	if err == nil {
		m.Errorf("%s succeeded: %s", strings.Join(args, " "), out)
	}
	return out
}

// want checks that the output of a command contains a text.
func (m *machine) want(text string, args ...string) {
	m.Helper()
	if out := m.run(args...); !strings.Contains(out, text) {
		m.Errorf("%s: %s, want %q", strings.Join(args, " "), out, text)
	}
}

// await waits until a command succeeds.
func (m *machine) await(args ...string) {
	m.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if _, err := m.try(args...); err == nil {
			return
		}
		if time.Now().After(deadline) {
			m.run(args...)
			return
		}
	}
}

// A package is installed, serves, keeps its names over an upgrade and a removal, and leaves
// nothing else behind.
func TestDebianPackage(t *testing.T) {
	packages := os.Getenv(packagesVariable)
	if packages == "" {
		t.Skip("make test-packages runs this test: it builds packages, and needs root")
	}
	older, newer, _ := strings.Cut(packages, ":")
	m := boot(t, older, newer)
	older, newer = "/packages/"+filepath.Base(older), "/packages/"+filepath.Base(newer)
	m.fails("id", "dibs")

	m.want("systemctl enable --now dibs", "dpkg", "--install", older)
	m.want("dibs      0.0.9", "dibs", "version")
	m.want("disabled", "sh", "-c", "systemctl is-enabled dibs || true")
	m.checkFiles()
	key := m.start()
	client := []string{"env", "DIBS_KEY=" + key, "DIBS_SERVER=http://127.0.0.1:8080"}
	m.run(append(client, "dibs", "claim", "slug", "alice", "--entity", "user/1")...)
	m.run("sh", "-c", "echo 'logLevel = \"debug\"' >> /etc/dibs/dibs.toml")

	// A running server is restarted, and a changed configuration stays.
	before := m.run("systemctl", "show", "--property=MainPID", "dibs")
	m.run("dpkg", "--install", newer)
	m.await(append(client, "dibs", "stats")...)
	if after := m.run("systemctl", "show", "--property=MainPID", "dibs"); after == before {
		m.Errorf("the upgrade did not restart the server: %s", after)
	}
	m.want("dibs      0.1.0", "dibs", "version")
	m.want("user/1", append(client, "dibs", "get", "slug", "alice")...)
	m.want("debug", "cat", "/etc/dibs/dibs.toml")

	// A removal stops the server, and keeps configuration and names; a purge keeps only the names.
	m.run("dpkg", "--remove", "dibs")
	m.fails("systemctl", "is-active", "dibs")
	m.fails("test", "-e", "/usr/bin/dibs")
	m.run("test", "-e", "/etc/dibs/dibs.toml")
	m.want("/var/lib/dibs are kept", "dpkg", "--purge", "dibs")
	m.fails("test", "-e", "/etc/dibs")
	m.run("test", "-s", "/var/lib/dibs/dibs.db")

	// Installed again, it has them, and the same user.
	m.run("dpkg", "--install", newer)
	m.want("user/1", "runuser", "-u", "dibs", "--", "dibs", "get", "slug", "alice", "--store", "sqlite:/var/lib/dibs/dibs.db")
}

// start makes a key and starts the server as the package says, and returns the key.
func (m *machine) start() string {
	m.Helper()
	// Without a key it ends at once, and systemd tries again.
	m.run("systemctl", "start", "dibs")
	m.await("sh", "-c", `test "$(systemctl show --property=NRestarts --value dibs)" -gt 0`)
	m.run("systemctl", "stop", "dibs")
	out := m.run("runuser", "-u", "dibs", "--", "dibs", "keys", "create", "admin", "--may", "all", "--in", "*",
		"--store", "sqlite:/var/lib/dibs/dibs.db")
	key, _, _ := strings.Cut(out, "\n")
	m.run("systemctl", "enable", "--now", "dibs")
	m.await("env", "DIBS_KEY="+key, "dibs", "stats", "--server", "http://127.0.0.1:8080")
	m.run("systemctl", "reload", "dibs")
	m.want("NoNewPrivs:\t1", "sh", "-c", "cat /proc/$(pidof dibs)/status")
	m.want("dibs dibs 700", "stat", "--format", "%U %G %a", "/var/lib/dibs")
	return key
}

// checkFiles checks that the package has pages, completions and licences where they belong.
func (m *machine) checkFiles() {
	m.Helper()
	m.want("hold a name for a limited time", "man", "dibs-reserve")
	m.want("sqlite:dibs.db", "man", "dibs.toml")
	m.want("/etc/dibs/dibs.toml", "dpkg-query", "--show", "--showformat=${Conffiles}", "dibs")
	for _, path := range []string{
		"/usr/share/bash-completion/completions/dibs", "/usr/share/zsh/vendor-completions/_dibs",
		"/usr/share/fish/vendor_completions.d/dibs.fish", "/usr/share/doc/dibs/copyright",
	} {
		m.run("test", "-s", path)
	}
	m.run("bash", "-n", "/usr/share/bash-completion/completions/dibs")
	m.run("systemd-analyze", "security", "--offline=true", "--threshold=30", "/usr/lib/systemd/system/dibs.service")
	m.run("dibs", "config", "check", "/etc/dibs/dibs.toml")
}

// The program needs nothing of a system: it runs alone in a folder, as in the image.
func TestScratch(t *testing.T) {
	packages := os.Getenv(packagesVariable)
	if packages == "" {
		t.Skip("make test-packages runs this test: it builds packages, and needs root")
	}
	_, newer, _ := strings.Cut(packages, ":")
	root := t.TempDir()
	data := filepath.Join(root, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, step := range []string{
		fmt.Sprintf("dpkg-deb --fsys-tarfile %s | tar -xO ./usr/bin/dibs > %s/dibs", newer, root),
		fmt.Sprintf("chmod 755 %[1]s %[1]s/dibs && chown 65532:65532 %[1]s/data", root),
		fmt.Sprintf("chroot --userspec=65532:65532 %s /dibs claim slug alice --entity user/1 --store sqlite:/data/dibs.db", root),
		fmt.Sprintf("chroot --userspec=65532:65532 %s /dibs get slug alice --store sqlite:/data/dibs.db", root),
	} {
		if out, err := exec.Command("sh", "-c", step).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", step, err, out)
		}
	}
}
