// Command member is one member of an etcd cluster, for tests: etcd's server in a process that ends
// with its parent. It is a module of its own, so that the modules of etcd's server are not among
// those of Dibs. Its only argument is the configuration. With a line of etcdctl or etcdutl as its
// arguments it is that tool.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"

	"go.etcd.io/etcd/server/v3/embed"
)

// config is that of package etcdtest.
type config struct {
	Name, Dir, Client, Peer, Cluster string
	MaxTxnOps                        uint
	Quota                            int64
	Sync, TLS                        bool
	Tick, Election                   uint // in milliseconds
}

func main() {
	run, tool := func() error { return serve(os.Args[1]) }, len(os.Args) > 2
	if tool {
		run = func() error { return runTool(os.Args[1:]) }
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if tool {
		return
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until the parent ends
}

func serve(text string) error {
	var c config
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	scheme := "http"
	if c.TLS {
		scheme = "https"
	}
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir, cfg.InitialCluster = c.Name, c.Dir, c.Cluster
	peer, client := url.URL{Scheme: "http", Host: c.Peer}, url.URL{Scheme: scheme, Host: c.Client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.LogLevel, cfg.LogOutputs = "error", []string{"stderr"}
	cfg.ClientAutoTLS, cfg.SelfSignedCertValidity = c.TLS, 1
	cfg.UnsafeNoFsync = !c.Sync
	cfg.QuotaBackendBytes = c.Quota
	if c.MaxTxnOps > 0 {
		cfg.MaxTxnOps = c.MaxTxnOps
	}
	cfg.TickMs, cfg.ElectionMs = c.Tick, c.Election
	server, err := embed.StartEtcd(cfg)
	if err != nil {
		return err
	}
	go func() { <-server.Err(); os.Exit(1) }()
	return nil
}
