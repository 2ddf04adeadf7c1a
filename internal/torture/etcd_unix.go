//go:build unix

package torture

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/etcdtest"
	"github.com/calldibs/dibs/internal/testdisk"
)

// members is a private etcd cluster, with links before each member.
type members struct {
	*etcdtest.Cluster
	servers []*link            // by which servers reach each member
	others  []*link            // by which the other members reach each member
	ids     []string           // what members call themselves when they connect to others
	dead    []*etcdtest.Member // to be started again
}

// memberFaults happen to members of an etcd cluster, and to the network between and before them.
var memberFaults = []fault{
	{Fault: Fault{"member-kill", "a member is killed, and started again once there is service without it", "etcd"}, inject: func(t *run, random *rand.Rand) time.Time {
		return t.members.kill(t.members.any(random))
	}, undo: restartMembers},
	{Fault: Fault{"leader-kill", "the leader is killed, and started again once there is service without it", "etcd"}, inject: func(t *run, _ *rand.Rand) time.Time {
		leader, _ := t.members.Leader(t.harness)
		return t.members.kill(leader)
	}, undo: restartMembers},
	{Fault: Fault{"member-stop", "a member is halted for up to three seconds", "etcd"}, inject: func(t *run, random *rand.Rand) time.Time {
		m := t.members.any(random)
		m.Pause(t.harness)
		pause(random, 100*time.Millisecond, 3*time.Second)
		m.Resume(t.harness)
		return time.Now()
	}},
	{Fault: Fault{"member-cut", "a member is cut off: from the others, both ways or one way, or from servers", "etcd"}, inject: func(t *run, random *rand.Rand) time.Time {
		var felt atomic.Bool
		rejoin := t.members.cut(t.members.any(random).Index(), random, &felt)
		pause(random, 100*time.Millisecond, 3*time.Second)
		t.untilFelt(random, &felt)
		rejoin()
		return time.Now()
	}},
	{Fault: Fault{"loss", "members and servers lose up to a third of what they send each other", "etcd"}, inject: func(t *run, random *rand.Rand) time.Time {
		loss := trouble{loss: 0.03 + 0.3*random.Float64(), felt: new(atomic.Bool)}
		var ends []func()
		for _, l := range slices.Concat(t.members.servers, t.members.others) {
			ends = append(ends, l.disturb(loss))
		}
		pause(random, 200*time.Millisecond, 2*time.Second)
		t.untilFelt(random, loss.felt)
		for _, end := range ends {
			end()
		}
		return time.Now()
	}},
	{Fault: Fault{"server-clock", "the clock of a server jumps, by less and by more than the others allow, and back", "etcd"}, clock: true, inject: jumpOne},
}

// memberDiskFaults happen to the disk of all members.
var memberDiskFaults = []fault{
	fullDiskFault("member-disk-full", "the disk of all members is full", "etcd", 2*time.Second, func(t *run) { t.members.Revive(t.harness) }),
	{Fault: Fault{"member-read-only", "all members are killed, and find their disk read-only", "etcd"}, inject: func(t *run, _ *rand.Rand) time.Time {
		killMembers(t)
		t.must(t.disk.SetReadOnly(true))
		for _, m := range t.members.Members {
			m.Restart(t.harness)
			m.AwaitEnd(t.harness)
		}
		t.must(t.disk.SetReadOnly(false))
		gone := time.Now()
		restartMembers(t, nil)
		return gone
	}},
	powerFault("member-power", "all members are killed, and what was not written to their disk is lost", "etcd",
		killMembers, func(t *run) { restartMembers(t, nil) }),
}

// setTime sets the registry's time as an operator does, who tries again if etcd does not answer.
func (t *run) setTime() error {
	for deadline := time.Now().Add(mostStarting); ; {
		command := exec.Command(t.Program[0], append(slices.Clone(t.Program[1:]), "clock", "set", "--store", t.engine.store)...)
		command.Env = t.Env
		said, err := command.CombinedOutput()
		if err == nil {
			return nil
		}
		if !bytes.Contains(said, []byte(dibs.CodeUnavailable)) || time.Now().After(deadline) {
			return fmt.Errorf("the time cannot be set: %w: %s", err, said)
		}
	}
}

func (m *members) any(random *rand.Rand) *etcdtest.Member {
	return m.Members[random.IntN(len(m.Members))]
}

// kill kills a member until restartMembers.
func (m *members) kill(member *etcdtest.Member) (gone time.Time) {
	member.Kill()
	m.dead = append(m.dead, member)
	return time.Now()
}

func killMembers(t *run) {
	for _, m := range t.members.Members {
		t.members.kill(m)
	}
}

func restartMembers(t *run, _ *rand.Rand) {
	for _, member := range t.members.dead {
		member.Restart(t.harness)
	}
	t.members.dead = nil
}

// cut cuts a member off. Members connect to each other both ways, and send by the connections of
// both, but mostly as answers to those that the others have opened: felt becomes true when such an answer was lost.
func (m *members) cut(victim int, random *rand.Rand, felt *atomic.Bool) (rejoin func()) {
	var ends []func()
	disturb := func(l *link, t trouble) { ends = append(ends, l.disturb(t)) }
	in, out := true, true // what reaches the victim, and what it sends
	switch random.IntN(4) {
	case 0:
		disturb(m.servers[victim], trouble{noRequests: true, noAnswers: true, felt: felt})
		in, out = false, false
	case 1:
		in = false
	case 2:
		out = false
	}
	for i, l := range m.others {
		t := trouble{caller: m.ids[victim], noRequests: out, noAnswers: in}
		if i == victim {
			t = trouble{noRequests: in, noAnswers: out}
		}
		if in == (i != victim) { // what it gets is lost at the links to the others, and what it sends at its own
			t.felt = felt
		}
		disturb(l, t)
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}

// sender is how a member names itself to another.
var sender = regexp.MustCompile(`(?i)\r\nX-Server-From: ([0-9a-f]+)\r\n`)

func senderOf(first []byte) string {
	if found := sender.FindSubmatch(first); found != nil {
		return string(found[1])
	}
	return ""
}

var errNoEtcd = errors.New("etcd is not installed: install it (Debian and Ubuntu: apt-get install etcd-server; " +
	"others: https://github.com/etcd-io/etcd/releases), or name the program with --etcd")

// openMembers starts a private cluster of three members.
func openMembers(t *run) (engine, error) {
	program, err := exec.LookPath(cmp.Or(t.Etcd, "etcd"))
	switch {
	case err != nil && t.Etcd == "":
		return engine{}, errNoEtcd
	case err != nil:
		return engine{}, fmt.Errorf("the program of --etcd: %w", err)
	}
	e := engine{about: "a private etcd cluster of three members", faults: slices.Concat(serverFaults, memberFaults)}
	m := &members{}
	t.members = m
	options := etcdtest.Options{Program: program, Logs: t.Folder, Between: func(_ int, address string) (string, error) {
		l, err := newMemberLink(address, senderOf)
		if err != nil {
			return "", err
		}
		t.harness.Cleanup(l.close)
		m.others = append(m.others, l)
		return l.address(), nil
	}}
	if t.wants(memberDiskFaults) {
		var err error
		if t.disk, err = testdisk.New(t.harness); err == nil {
			options.Folder, options.Sync = t.disk.Path, true
		}
		e = e.with(memberDiskFaults, err)
	}
	m.Cluster = etcdtest.Start(t.harness, options)
	if err := m.identify(t); err != nil {
		return engine{}, err
	}
	addresses := make([]string, len(m.Members))
	for i, endpoint := range m.Endpoints() {
		l, err := newLink(endpoint)
		if err != nil {
			return engine{}, err
		}
		t.harness.Cleanup(l.close)
		m.servers, addresses[i] = append(m.servers, l), l.address()
	}
	e.store = "etcd://" + strings.Join(addresses, ",") + "/names"
	return e, nil
}

// identify learns the IDs of the members.
func (m *members) identify(t *run) error {
	list, err := m.Client(t.harness).MemberList(t.harness.Context())
	if err != nil {
		return err
	}
	m.ids = make([]string, len(m.others))
	for _, member := range list.Members {
		i := slices.IndexFunc(m.others, func(l *link) bool { return slices.Contains(member.PeerURLs, "http://"+l.address()) })
		if i < 0 {
			return fmt.Errorf("a member is none of ours: %v", member.PeerURLs)
		}
		m.ids[i] = fmt.Sprintf("%x", member.ID)
	}
	return nil
}
