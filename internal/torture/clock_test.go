//go:build unix

package torture_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/torture"
)

// Clocks jump. That of PostgreSQL needs a library.
func TestClocks(t *testing.T) {
	t.Parallel()
	notShort(t)
	for engine, fault := range map[string]string{"sqlite": "clock", "postgres": "db-clock", "etcd": "server-clock"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			cfg := config(t, engine)
			if library, _ := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1"); engine == "postgres" && library == nil {
				cfg.Faults = []string{fault}
				if _, err := torture.Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "apt-get install libfaketime") {
					t.Errorf("got %v", err)
				}
				return
			}
			mustSurvive(t, cfg, fault)
		})
	}
}
