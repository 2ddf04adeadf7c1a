package main

import (
	"context"
	"flag"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
)

// runTool does what a line of etcdctl or etcdutl says, by the packages that those programs consist of.
func runTool(words []string) error {
	if len(words) < 4 || words[1] != "snapshot" {
		return fmt.Errorf("%q is no line of a backup", words)
	}
	verb, path, flags := words[0]+" "+words[2], words[3], words[4:]
	tool := snapshot.NewV3(zap.NewNop())
	set := flag.NewFlagSet(verb, flag.ContinueOnError)
	switch verb {
	case "etcdctl save":
		endpoint := set.String("endpoints", "", "")
		if err := set.Parse(flags); err != nil {
			return err
		}
		_, err := tool.Save(context.Background(), clientv3.Config{Endpoints: []string{*endpoint}, Logger: zap.NewNop()}, path)
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
		return fmt.Errorf("%q is no line of a backup", words)
	}
}
