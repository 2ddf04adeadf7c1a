//go:build unix

package etcdtest

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
)

// Tool runs a line of etcdctl or etcdutl in a folder, by the packages that those programs consist of.
// It knows the lines that make and restore a backup.
func Tool(ctx context.Context, folder, line string) error {
	words := strings.Fields(line)
	if len(words) < 4 || words[1] != "snapshot" {
		return fmt.Errorf("etcdtest: %q is no line of a backup", line)
	}
	path, verb, flags := filepath.Join(folder, words[3]), words[0]+" "+words[2], words[4:]
	tool := snapshot.NewV3(zap.NewNop())
	set := flag.NewFlagSet(line, flag.ContinueOnError)
	switch verb {
	case "etcdctl save":
		endpoint := set.String("endpoints", "", "")
		if err := set.Parse(flags); err != nil {
			return err
		}
		_, err := tool.Save(ctx, clientv3.Config{Endpoints: []string{*endpoint}, Logger: zap.NewNop()}, path)
		return err
	case "etcdutl restore":
		cfg := snapshot.RestoreConfig{SnapshotPath: path}
		var peer string
		set.StringVar(&cfg.Name, "name", "", "")
		set.StringVar(&cfg.OutputDataDir, "data-dir", "", "")
		set.StringVar(&cfg.InitialCluster, "initial-cluster", "", "")
		set.StringVar(&cfg.InitialClusterToken, "initial-cluster-token", "", "")
		set.StringVar(&peer, "initial-advertise-peer-urls", "", "")
		set.Uint64Var(&cfg.RevisionBump, "bump-revision", 0, "")
		set.BoolVar(&cfg.MarkCompacted, "mark-compacted", false, "")
		if err := set.Parse(flags); err != nil {
			return err
		}
		cfg.PeerURLs = []string{peer}
		return tool.Restore(cfg)
	default:
		return fmt.Errorf("etcdtest: %q is no line of a backup", line)
	}
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
