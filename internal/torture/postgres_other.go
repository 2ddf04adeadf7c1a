//go:build !unix

package torture

import "errors"

type cluster struct{}

var databaseFaults, databaseDiskFaults, databaseClockFaults []fault

func openCluster(*run) (engine, error) {
	return engine{}, errors.New("a private PostgreSQL cluster needs a Unix system: use --store with the address of a database")
}
