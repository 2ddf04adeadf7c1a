//go:build linux

package bench

import (
	"os"
	"testing"
	"time"
)

// The processor time of a process is that of its work: this test works until it shows.
func TestProcessor(t *testing.T) {
	t.Parallel()
	l := &lab{TB: t}
	before := processorOf(os.Getpid())
	used := l.metered(nil, func() int {
		for begin := time.Now(); processorOf(os.Getpid()) <= before; {
			if time.Since(begin) > time.Minute {
				t.Fatal("a minute of work takes no processor time")
			}
		}
		return 2
	})
	if used <= 0 {
		t.Errorf("each call took %v µs", used)
	}
	if machineBusy() <= 0 {
		t.Error("the machine has never done anything")
	}
	if gone := processorOf(-1); gone != 0 {
		t.Errorf("a process that does not exist used %v", gone)
	}
}
