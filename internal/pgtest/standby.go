//go:build unix

package pgtest

import (
	"fmt"
	"maps"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs/internal/harness"
)

// Standby starts a copy of the cluster that follows it, and returns once commits wait
// for the copy: every later acknowledged commit is on both. It ends with the test. The name
// consists of lower-case letters, digits and underscores, and is unique among the standbys.
func (c *Cluster) Standby(tb harness.TB, name string) *Cluster {
	tb.Helper()
	c.mustBeOwn(tb)
	standby, err := c.startStandby(name)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { standby.end(tb) })
	if err := c.waitForStandby(name); err != nil {
		tb.Fatalf("%v; the end of the standby's log:\n%s", err, standby.home.logTail())
	}
	return standby
}

func (c *Cluster) startStandby(name string) (*Cluster, error) {
	h, err := newHome("", c.settings["fsync"] == "off")
	if err != nil {
		return nil, err
	}
	standby := &Cluster{home: h, settings: maps.Clone(c.settings)}
	// The slot makes the primary keep what the standby does not have yet.
	primary := fmt.Sprintf("host='%s' port=%s user=%s application_name=%s", c.home.dir, port, superuser, name)
	err = h.run("pg_basebackup", "-D", h.data(), "-d", primary, "--write-recovery-conf", "--checkpoint=fast",
		"--create-slot", "--slot="+name, "--no-sync")
	if err == nil {
		err = standby.start()
	}
	if err == nil {
		// It came with the data, and would make a promoted standby wait for its siblings.
		err = standby.exec("ALTER SYSTEM RESET synchronous_standby_names")
	}
	if err == nil {
		err = standby.exec("SELECT pg_reload_conf()")
	}
	if err != nil {
		h.remove()
		return nil, err
	}
	return standby, nil
}

// waitForStandby makes commits wait for one more standby.
func (c *Cluster) waitForStandby(name string) error {
	const inState = "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE application_name = $1 AND %s = $2)"
	err := await("the standby is streaming", func() (bool, error) {
		return c.isTrue(fmt.Sprintf(inState, "state"), name, "streaming")
	})
	if err != nil {
		return err
	}
	c.standbys = append(c.standbys, pgx.Identifier{name}.Sanitize())
	all := fmt.Sprintf("FIRST %d (%s)", len(c.standbys), strings.Join(c.standbys, ", "))
	if err := c.exec("ALTER SYSTEM SET synchronous_standby_names = '" + all + "'"); err != nil {
		return err
	}
	if err := c.exec("SELECT pg_reload_conf()"); err != nil {
		return err
	}
	return await("the standby is in sync", func() (bool, error) {
		return c.isTrue(fmt.Sprintf(inState, "sync_state"), name, "sync")
	})
}

// Promote makes a standby the primary, and returns once it accepts writes.
func (c *Cluster) Promote(tb harness.TB) {
	tb.Helper()
	if err := c.exec("SELECT pg_promote(wait => false)"); err != nil {
		tb.Fatal(err)
	}
	err := await("the standby is promoted", func() (bool, error) {
		return c.isTrue("SELECT NOT pg_is_in_recovery()")
	})
	if err != nil {
		tb.Fatalf("%v; the end of its log:\n%s", err, c.home.logTail())
	}
}
