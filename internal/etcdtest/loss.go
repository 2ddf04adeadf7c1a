//go:build unix

package etcdtest

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"sync"

	"github.com/calldibs/dibs/internal/harness"
)

// A filter drops packets that come in by a device of a network namespace. (A packet that is dropped on its way out is
// not lost: the system tells the sender.)
type filter struct{ space, device string }

// lossy returns the filters of a member: what reaches it, from the others and from clients, and what it sends to the others.
func (n *network) lossy(i int) []filter {
	return []filter{{n.space(i), "peers"}, {n.space(i), "clients"}, {n.hub(), port(i)}}
}

// CheckLoss returns why members cannot lose packets here, or nil if they can. It tries it: the kernel may lack the filter.
var CheckLoss = sync.OnceValue(func() error {
	if err := CheckNetwork(); err != nil {
		return err
	}
	if _, err := exec.LookPath("nft"); err != nil {
		return errors.New("lost packets need the program nft: run make deps to install it")
	}
	n, err := newNetwork(1)
	if err != nil {
		return err
	}
	defer n.remove(1)
	return n.lossy(0)[0].begin(1)
})

// Lose lets the network lose a share of the packets that reach a member, and of those that it sends to the others,
// until Deliver. The cluster must have a Network, and CheckLoss must allow it.
func (m *Member) Lose(tb harness.TB, percent int) {
	tb.Helper()
	for _, f := range m.network.lossy(m.index) {
		if err := f.begin(percent); err != nil {
			tb.Fatal(err)
		}
	}
}

// Deliver undoes Lose, and returns how many packets were lost.
func (m *Member) Deliver(tb harness.TB) (lost int) {
	tb.Helper()
	for _, f := range m.network.lossy(m.index) {
		n, err := f.lost()
		if err := errors.Join(err, f.end()); err != nil {
			tb.Fatal(err)
		}
		lost += n
	}
	return lost
}

func (f filter) begin(percent int) error {
	_, err := f.nft(fmt.Sprintf(`add table netdev %[1]s; add chain netdev %[1]s loss { type filter hook ingress device "%[1]s" priority 0; }; `+
		`add rule netdev %[1]s loss numgen random mod 100 <= %[2]d counter drop`, f.device, percent-1))
	return err
}

// dropped matches the counter of a filter.
var dropped = regexp.MustCompile(`counter packets (\d+)`)

// lost returns how many packets the filter has dropped.
func (f filter) lost() (int, error) {
	said, err := f.nft("list table netdev " + f.device)
	if err != nil {
		return 0, err
	}
	count := dropped.FindStringSubmatch(said)
	if count == nil {
		return 0, fmt.Errorf("no counter: %s", said)
	}
	return strconv.Atoi(count[1])
}

func (f filter) end() error {
	_, err := f.nft("delete table netdev " + f.device)
	return err
}

// nft runs commands of the program nft in the namespace.
func (f filter) nft(commands string) (string, error) {
	said, err := exec.Command("ip", "netns", "exec", f.space, "nft", commands).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("nft %s: %w: %s", commands, err, said)
	}
	return string(said), nil
}
