//go:build unix

package etcdtest

import "github.com/calldibs/dibs/internal/harness"

// Program returns the program in the folder member, which is also a tool: its arguments are a line of
// etcdctl or etcdutl, the name of the tool first. It knows the lines that make and restore a backup.
func Program(tb harness.TB) string {
	tb.Helper()
	program, err := memberProgram()
	if err != nil {
		tb.Fatal(err)
	}
	return program
}

// NewMember is a member of a cluster that is made from a backup.
type NewMember struct {
	Name, DataDir, PeerURL, InitialCluster string
}

// StartFrom starts a cluster of three new members, which ends with the test. Restore makes the data
// of each.
func StartFrom(tb harness.TB, restore func(NewMember) error) *Cluster {
	tb.Helper()
	c, err := prepare(Options{})
	if err != nil {
		tb.Fatal(err)
	}
	for _, m := range c.Members {
		if err := restore(NewMember{m.config.Name, m.config.Dir, "http://" + m.config.Advertise, m.config.Cluster}); err != nil {
			c.stop()
			tb.Fatal(err)
		}
	}
	if err := c.launch(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.stop)
	return c
}
