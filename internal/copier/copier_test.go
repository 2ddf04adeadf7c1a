//go:build unix

package copier_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/calldibs/dibs/internal/copier"
)

// A copier that is killed before or after any of its calls, while callers change names, and is
// started again, loses nothing.
func TestKilledAtEveryCall(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		t.Run(fmt.Sprintf("after %v", after), func(t *testing.T) {
			t.Parallel()
			for dies := int64(1); ; dies++ {
				r := newRig(t, "memory", "memory")
				callers, finished := r.load(2)
				_, err := r.copy(&life{dies: dies, after: after})
				if err != nil && !errors.Is(err, errKilled) {
					t.Fatalf("call %d: %v", dies, err)
				}
				survived := err == nil
				if _, err := r.copy(new(life)); err != nil {
					t.Fatalf("after a kill at call %d: %v", dies, err)
				}
				finished()
				r.requireSame()
				r.check(callers)
				_ = r.registry.Close()
				if t.Failed() {
					t.Fatalf("killed at call %d", dies)
				}
				if survived {
					t.Logf("a copy takes %d calls", dies-1)
					return
				}
			}
		})
	}
}

// The same on real engines: one copy is killed again and again, each time a little later.
func TestEngines(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{"sqlite", "postgres"}, {"postgres", "sqlite"}, {"sqlite", "etcd"}, {"etcd", "postgres"}, {"sqlite", "sqlite"},
	} {
		t.Run(pair[0]+" to "+pair[1], func(t *testing.T) {
			t.Parallel()
			r := newRig(t, pair[0], pair[1])
			callers, finished := r.load(4)
			var report copier.Report
			kills := 0
			for dies := int64(1); ; dies += 1 + dies/3 {
				var err error
				if report, err = r.copy(&life{dies: dies, after: kills%2 == 0}); err == nil {
					break
				}
				if !errors.Is(err, errKilled) {
					t.Fatal(err)
				}
				kills++
			}
			finished()
			names := r.requireSame()
			t.Logf("%d kills; %+v", kills, report)
			if !report.Earlier && report.Names != names {
				t.Errorf("it reports %d names, there are %d", report.Names, names)
			}
			r.check(callers)
		})
	}
}
