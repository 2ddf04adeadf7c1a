//go:build !unix

package torture

import "errors"

type members struct{}

var memberFaults, memberDiskFaults []fault

func openMembers(*run) (engine, error) {
	return engine{}, errors.New("a private etcd cluster needs a Unix system: use --store with the address of a cluster")
}
