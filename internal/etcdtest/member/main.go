// Command member is one member of an etcd cluster, for tests: etcd itself, with its own flags, in a
// process that ends with its parent. It is a module of its own, so that the modules of etcd's
// server are not among those of Dibs. With a line of etcdctl or etcdutl as its arguments it is that
// tool.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		if err := runTool(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until the parent ends
		os.Exit(1)
	}()
	etcdmain.Main(os.Args)
}
