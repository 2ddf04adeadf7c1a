//go:build unix

package torture_test

import (
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/etcdtest"
	"github.com/calldibs/dibs/internal/torture"
)

func TestEtcd(t *testing.T) {
	t.Parallel()
	notShort(t)
	cfg := config(t, "etcd")
	cfg.Etcd = etcdtest.Program(t)
	mustSurvive(t, cfg, "leader-kill", "member-kill", "member-stop", "member-cut", "loss")
}

// Without an etcd, the error says what to install.
func TestNoEtcd(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	cfg := config(t, "etcd")
	if _, err := torture.Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "apt-get install etcd-server") {
		t.Errorf("got %v", err)
	}
}
