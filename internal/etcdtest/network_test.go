//go:build unix

package etcdtest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

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

// Lose loses what others and clients send to a member, and what it sends to others. Deliver ends that.
func TestLose(t *testing.T) {
	t.Parallel()
	if err := CheckLoss(); err != nil {
		t.Skip(err)
	}
	n, err := newNetwork(2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.remove(2) })
	m := &Member{network: n, index: 1}
	m.Lose(t, 100)
	for f, path := range map[filter][]string{
		{n.space(1), "peers"}:   {"ip", "netns", "exec", n.space(0), n.peer(1)},
		{n.space(1), "clients"}: {"env", n.client(1)},
		{n.hub(), port(1)}:      {"ip", "netns", "exec", n.space(1), n.peer(0)},
	} {
		last := len(path) - 1
		packet := exec.Command(path[0], append(path[1:last:last], "bash", "-c", "echo > /dev/udp/"+path[last]+"/9")...)
		if said, err := packet.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", packet, err, said)
		}
		for lost, deadline := 0, time.Now().Add(10*time.Second); lost == 0; {
			if lost, err = f.lost(); err != nil || time.Now().After(deadline) {
				t.Fatalf("no packet of %v is lost, %v", packet, err)
			}
		}
	}
	if lost := m.Deliver(t); lost < 3 {
		t.Errorf("%d packets were lost", lost)
	}
	for _, space := range []string{n.space(1), n.hub()} {
		if rules, err := (filter{space: space}).nft("list ruleset"); err != nil || rules != "" {
			t.Errorf("after Deliver: %s, %v", rules, err)
		}
	}
}
