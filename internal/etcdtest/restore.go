//go:build unix

package etcdtest

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// Tool runs a line of etcdctl or etcdutl in a folder, by the program in the folder member. It knows the
// lines that make and restore a backup.
func Tool(ctx context.Context, folder, line string) error {
	program, err := memberProgram()
	if err != nil {
		return err
	}
	run := exec.CommandContext(ctx, program, strings.Fields(line)...)
	run.Dir = folder
	if out, err := run.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", line, err, out)
	}
	return nil
}

// NewMember is a member of a cluster that is made from a backup.
type NewMember struct {
	Name, DataDir, PeerURL, InitialCluster string
}

// StartFrom starts a cluster of three new members, which ends with the test. Restore makes the data
// of each.
func StartFrom(tb testing.TB, restore func(NewMember) error) *Cluster {
	tb.Helper()
	c, err := prepare(Options{})
	if err != nil {
		tb.Fatal(err)
	}
	for _, m := range c.Members {
		if err := restore(NewMember{m.config.Name, m.config.Dir, "http://" + m.config.Peer, m.config.Cluster}); err != nil {
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
