package torture

import (
	"path/filepath"

	stores "github.com/calldibs/dibs/internal/engine"
)

// PrivateEngines are the engines that a run can start for itself.
var PrivateEngines = []string{"sqlite", "postgres", "etcd"}

// engine is where the servers of a run keep their names.
type engine struct {
	store  string  // the address for the servers
	about  string  // for the report
	faults []fault // that can happen here
}

// openEngine starts a private engine, or takes the user's.
func openEngine(t *run) (engine, error) {
	switch t.Store {
	case "sqlite":
		return openFile(t, filepath.Join(t.Folder, "names.db")), nil
	case "postgres":
		return openCluster(t)
	case "etcd":
		return openMembers(t)
	}
	return engine{store: t.Store, about: stores.Redacted(t.Store), faults: serverFaults}, nil
}
