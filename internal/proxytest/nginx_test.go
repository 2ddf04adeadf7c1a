package proxytest

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// nginx runs the page's configuration with a key, and returns where.
func nginx(t *testing.T, r *rig, key string) (url string) {
	t.Helper()
	dir, address := t.TempDir(), freeAddress(t)
	site := r.fill(t, block(t, "nginx"), "listen 80", "listen "+address, nginxKey, key)
	config := fmt.Sprintf(`
		daemon off;
		master_process off;
		pid %[1]s/pid;
		error_log stderr notice;
		events {}
		http {
			access_log off;
			client_body_temp_path %[1]s/body;
			proxy_temp_path %[1]s/proxy;
			fastcgi_temp_path %[1]s/fastcgi;
			uwsgi_temp_path %[1]s/uwsgi;
			scgi_temp_path %[1]s/scgi;
			%[2]s
		}`, dir, site)
	path := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return start(t, address, exec.Command(program(t, "nginx"), "-e", "stderr", "-p", dir, "-c", path))
}

func TestNginx(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	url := nginx(t, r, r.key)
	visit(t, r, url)
	if got := send(t, url, "GET /_dibs", "", ""); got.status != http.StatusNotFound {
		t.Errorf("visitors can ask by themselves: %d", got.status)
	}
	if err := r.registry.Close(); err != nil {
		t.Fatal(err)
	}
	checkAway(t, "the engine is gone", url)
	r.dibs.Close()
	checkAway(t, "Dibs is gone", url)
}

func TestNginxWithWrongKey(t *testing.T) {
	t.Parallel()
	checkAway(t, "the key is wrong", nginx(t, newRig(t), "dibs_other"))
}
