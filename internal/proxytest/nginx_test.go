package proxytest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/internal/freeport"
	"github.com/calldibs/dibs/internal/server"
	"github.com/calldibs/dibs/memstore"
)

// nginx runs the page's configuration with a key, and returns its URL.
func nginx(t *testing.T, r *rig, key string) (url string) {
	t.Helper()
	address := freeport.Address(t)
	return runNginx(t, address, r.fill(t, block(t, "nginx"), "listen 80", "listen "+address, nginxKey, key))
}

// runNginx runs a site that listens on an address, and returns its URL.
func runNginx(t *testing.T, address, site string) (url string) {
	t.Helper()
	dir := t.TempDir()
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
	if got := send(t, url, "GET /_dibs", "", ""); got.status != http.StatusNotFound {
		t.Errorf("visitors reach Dibs directly: %d", got.status)
	}
	checkAll(t, r, url)
}

func TestNginxWithWrongKey(t *testing.T) {
	t.Parallel()
	checkAway(t, "the key is wrong", nginx(t, newRig(t), "dibs_other"))
}

// A server without keys does not treat a request through a proxy as one from its own
// machine: neither with nginx's defaults, nor with keep-alive as in its manual, if the
// request has a header of a proxy.
func TestKeylessBehindNginx(t *testing.T) {
	t.Parallel()
	store := memstore.New(memstore.Config{})
	reg := coretest.MustOpen(t, store, dibs.Config{})
	keyless := httptest.NewServer(server.New(server.Config{Registry: reg, Store: store, LocalOnly: true}))
	t.Cleanup(keyless.Close)
	for name, lines := range map[string]string{
		"by default":    "",
		"keep-alive":    `proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header X-Forwarded-For $remote_addr;`,
		"with a scheme": `proxy_http_version 1.1; proxy_set_header X-Forwarded-Proto $scheme;`,
		"with the host": `proxy_http_version 1.1; proxy_set_header Host names.example.com;`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := freeport.Address(t)
			url := runNginx(t, address, fmt.Sprintf("server { listen %s; location / { proxy_pass %s; %s } }", address, keyless.URL, lines))
			for _, path := range []string{"/v1/names", "/metrics"} {
				if got := send(t, url, "GET "+path, "", ""); got.status != http.StatusForbidden {
					t.Errorf("%s is %d", path, got.status)
				}
			}
			if got := send(t, url, "GET /healthz", "", ""); got.status != http.StatusOK {
				t.Errorf("/healthz is %d", got.status)
			}
		})
	}
	res, err := http.Get(keyless.URL + "/v1/names")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("without a proxy it is %d", res.StatusCode)
	}
}
