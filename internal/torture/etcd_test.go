//go:build unix

package torture_test

import (
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/etcdtest"
	"github.com/calldibs/dibs/internal/torture"
)

// etcdProgram is the etcd of tests.
func etcdProgram(t *testing.T) string {
	t.Helper()
	program, err := etcdtest.Program()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func TestEtcd(t *testing.T) {
	t.Parallel()
	cfg := config(t, "etcd")
	cfg.Etcd = etcdProgram(t)
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
