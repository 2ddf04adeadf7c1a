package torture

import (
	"slices"

	stores "github.com/calldibs/dibs/internal/engine"
)

// PrivateEngines are the engines that a run can start for itself.
var PrivateEngines = []string{"sqlite", "postgres", "etcd"}

// engine is where the servers of a run keep their names.
type engine struct {
	store  string  // the address for the servers
	about  string  // for the report
	faults []fault // that can happen here

	leftOut []fault // faults of the engine that cannot happen on this machine
	why     error
}

// wants reports whether the run is to have one of some faults.
func (c Config) wants(faults []fault) bool {
	return c.Faults == nil || slices.ContainsFunc(faults, func(f fault) bool { return slices.Contains(c.Faults, f.Name) })
}

// withDisk adds faults that need a disk of their own, unless there was an error in making it.
func (e engine) withDisk(faults []fault, err error) engine {
	if err != nil {
		e.leftOut, e.why = faults, err
		return e
	}
	e.faults = slices.Concat(e.faults, faults)
	return e
}

// openEngine starts a private engine, or takes the user's.
func openEngine(t *run) (engine, error) {
	switch t.Store {
	case "sqlite":
		return openFile(t), nil
	case "postgres":
		return openCluster(t)
	case "etcd":
		return openMembers(t)
	}
	return engine{store: t.Store, about: stores.Redacted(t.Store), faults: serverFaults}, nil
}
