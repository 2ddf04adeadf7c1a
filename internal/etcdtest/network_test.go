//go:build unix

package etcdtest

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/harness"
)

func TestMain(m *testing.M) { Main(m) }

// Isolate cuts a member's link to the others, Hide the link to its clients; both are restored.
func TestLinks(t *testing.T) {
	t.Parallel()
	RequireNetwork(t)
	n, err := newNetwork(2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.remove(2) })
	m := &Member{network: n, index: 1}
	for _, step := range []struct {
		name string
		do   func(harness.TB)
		link []string
		up   bool
	}{
		{"Isolate", m.Isolate, []string{"-n", n.hub(), "link", "show", port(1)}, false},
		{"Rejoin", m.Rejoin, []string{"-n", n.hub(), "link", "show", port(1)}, true},
		{"Hide", m.Hide, []string{"link", "show", n.link(1)}, false},
		{"Show", m.Show, []string{"link", "show", n.link(1)}, true},
	} {
		step.do(t)
		shown, err := exec.Command("ip", step.link...).Output()
		if err != nil || strings.Contains(string(shown), ",UP") != step.up {
			t.Errorf("after %s: %s, %v", step.name, shown, err)
		}
	}
}

// A new network removes what killed processes have left, and nothing else.
func TestSweep(t *testing.T) {
	t.Parallel()
	RequireNetwork(t)
	const dead = "dibs99999999n1hub" // no process has this ID
	_ = ip("netns", "add", dead)     // other processes sweep too, and may be faster
	n, err := newNetwork(1)
	if err != nil {
		t.Fatal(err)
	}
	defer n.remove(1)
	sweep()
	for space, want := range map[string]bool{dead: false, n.hub(): true} {
		if _, err := os.Stat("/run/netns/" + space); (err == nil) != want {
			t.Errorf("%s: %v", space, err)
		}
	}
}
