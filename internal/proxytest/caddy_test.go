package proxytest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/freeport"
)

// caddy runs the page's configuration with a key, and returns its URL.
func caddy(t *testing.T, r *rig, key string) (url string) {
	t.Helper()
	dir, address := t.TempDir(), freeport.Address(t)
	_, port, _ := strings.Cut(address, ":")
	config := "{\n\tadmin off\n}\n" + r.fill(t, block(t, "caddyfile"), "example.com {", "http://:"+port+" {\n\tbind 127.0.0.1")
	path := filepath.Join(dir, "Caddyfile")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program(t, "caddy"), "run", "--config", path, "--adapter", "caddyfile")
	command.Env = []string{"HOME=" + dir, "XDG_DATA_HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "DIBS_KEY=" + key}
	return start(t, address, command)
}

func TestCaddy(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	checkAll(t, r, caddy(t, r, r.key))
}

func TestCaddyWithWrongKey(t *testing.T) {
	t.Parallel()
	checkAway(t, "the key is wrong", caddy(t, newRig(t), "dibs_other"))
}
