//go:build unix

package etcdtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/calldibs/dibs/internal/freeport"
	"github.com/calldibs/dibs/internal/harness"
)

// network connects the members of a cluster that can be cut off. Each member has its own
// network namespace with two links: one to a switch, which connects the members, and one to
// the test, for clients. So a member without the others can still be reached by clients.
type network struct {
	name    string // the prefix of all namespaces
	number  int    // the third byte of all addresses
	release func() // gives the number back
}

// Addresses are from a block for network tests, which is not routed.
const (
	peerBlock   = "198.18"
	clientBlock = "198.19"
)

// networks counts the networks of this process.
var networks atomic.Int64

// namespace matches the names of namespaces, which contain the ID of the process that made them.
var namespace = regexp.MustCompile(`(?m)^dibs(\d+)n\d+\S*`)

// CheckNetwork returns why members cannot have a Network here, or nil if they can. It tries
// to make one: root may lack the right, as in many containers.
var CheckNetwork = sync.OnceValue(func() error {
	if os.Geteuid() != 0 {
		return errors.New("network namespaces need root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return errors.New("network namespaces need the program ip: run make deps to install it")
	}
	n, err := newNetwork(1)
	if err != nil {
		return err
	}
	n.remove(1)
	return nil
})

// RequireNetwork skips a test if members cannot be cut off, and prints why.
func RequireNetwork(tb testing.TB) {
	tb.Helper()
	if err := CheckNetwork(); err != nil {
		fmt.Fprintf(os.Stderr, "*** %s does not run: %v ***\n", tb.Name(), err)
		tb.Skip(err)
	}
}

// newNetwork makes a network for the members, after it removed what killed processes have
// left.
func newNetwork(members int) (*network, error) {
	sweep()
	number, release, err := freeport.TakeNumber("networks", 0, 256, func(int) bool { return true })
	if err != nil {
		return nil, err
	}
	n := &network{name: fmt.Sprintf("dibs%dn%d", os.Getpid(), networks.Add(1)), number: number, release: release}
	steps := []string{
		"netns add " + n.hub(),
		"-n " + n.hub() + " link add bridge type bridge",
		"-n " + n.hub() + " link set bridge up",
	}
	for i := range members {
		space := n.space(i)
		steps = append(
			steps,
			"netns add "+space,
			"-n "+space+" link set lo up",
			fmt.Sprintf("link add peers netns %s type veth peer name %s netns %s", space, port(i), n.hub()),
			fmt.Sprintf("-n %s link set %s master bridge up", n.hub(), port(i)),
			fmt.Sprintf("-n %s addr add %s/24 dev peers", space, n.peer(i)),
			"-n "+space+" link set peers up",
			fmt.Sprintf("link add %s type veth peer name clients netns %s", n.link(i), space),
			fmt.Sprintf("addr add %s.%d.%d/30 dev %s", clientBlock, n.number, 4*i+1, n.link(i)),
			fmt.Sprintf("link set %s up", n.link(i)),
			fmt.Sprintf("-n %s addr add %s/30 dev clients", space, n.client(i)),
			"-n "+space+" link set clients up",
		)
	}
	for _, step := range steps {
		if err := ip(strings.Fields(step)...); err != nil {
			n.remove(members)
			return nil, err
		}
	}
	return n, nil
}

func (n *network) hub() string         { return n.name + "hub" }
func (n *network) space(i int) string  { return fmt.Sprint(n.name, "m", i) }
func (n *network) peer(i int) string   { return fmt.Sprintf("%s.%d.%d", peerBlock, n.number, i+1) }
func (n *network) client(i int) string { return fmt.Sprintf("%s.%d.%d", clientBlock, n.number, 4*i+2) }

// link is the end of a member's link to clients in the test's own namespace. Names of links
// have at most 15 characters.
func (n *network) link(i int) string { return fmt.Sprint(strings.TrimPrefix(n.name, "dibs"), "l", i) }

// port is the switch's end of a member's link to the others.
func port(i int) string { return fmt.Sprint("port", i) }

// remove removes the namespaces, and with them all links, and gives the number back.
func (n *network) remove(members int) {
	for i := range members {
		_ = ip("netns", "delete", n.space(i)) // it may not exist
	}
	_ = ip("netns", "delete", n.hub())
	n.release()
}

// sweep removes the namespaces of processes that ended without doing so.
func sweep() {
	list, err := exec.Command("ip", "netns", "list").Output()
	if err != nil {
		return
	}
	for _, found := range namespace.FindAllStringSubmatch(string(list), -1) {
		// A process that has ended has no program, even as a zombie.
		if _, err := os.Readlink("/proc/" + found[1] + "/exe"); err != nil {
			_ = ip("netns", "delete", found[0]) // another process may be faster
		}
	}
}

// ip runs the program ip.
func ip(args ...string) error {
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// Isolate cuts a member off from the others. Clients still reach it. The cluster must have
// a Network.
func (m *Member) Isolate(tb harness.TB) { m.setPort(tb, "down") }

// Rejoin undoes Isolate.
func (m *Member) Rejoin(tb harness.TB) { m.setPort(tb, "up") }

func (m *Member) setPort(tb harness.TB, state string) {
	tb.Helper()
	if err := ip("-n", m.network.hub(), "link", "set", port(m.index), state); err != nil {
		tb.Fatal(err)
	}
}

// Hide cuts a member off from clients. The other members still reach it.
func (m *Member) Hide(tb harness.TB) { m.setLink(tb, "down") }

// Show undoes Hide.
func (m *Member) Show(tb harness.TB) { m.setLink(tb, "up") }

func (m *Member) setLink(tb harness.TB, state string) {
	tb.Helper()
	if err := ip("link", "set", m.network.link(m.index), state); err != nil {
		tb.Fatal(err)
	}
}
