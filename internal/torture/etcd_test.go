//go:build unix

package torture_test

import (
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/torture"
)

func TestEtcd(t *testing.T) {
	t.Parallel()
	notShort(t)
	mustSurvive(t, config(t, "etcd"), "leader-kill", "member-kill", "member-stop", "member-cut", "loss")
}

// Without an etcd, the error says what to install.
func TestNoEtcd(t *testing.T) {
	cfg := config(t, "sqlite")
	cfg.Store = "etcd"
	t.Setenv("PATH", t.TempDir())
	if _, err := torture.Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "apt-get install etcd-server") {
		t.Errorf("got %v", err)
	}
}
