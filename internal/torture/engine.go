package torture

import (
	"context"
	"fmt"
	"slices"
	"strings"

	stores "github.com/calldibs/dibs/internal/engine"
)

// PrivateEngines are the engines that a run can start for itself.
var PrivateEngines = []string{"sqlite", "postgres", "etcd"}

// engine is where the servers of a run keep their names.
type engine struct {
	store  string  // the address for the servers
	about  string  // for the report
	faults []fault // that can happen here

	leftOut []leftOut // faults of the engine that cannot happen on this machine
}

// leftOut is some faults that cannot happen.
type leftOut struct {
	faults []fault
	why    error
}

func (l leftOut) String() string {
	var names []string
	for _, f := range l.faults {
		names = append(names, f.Name)
	}
	return fmt.Sprintf("%s: %v", strings.Join(names, ", "), l.why)
}

// wants reports whether the run is to have one of some faults.
func (c Config) wants(faults []fault) bool {
	return c.Faults == nil || slices.ContainsFunc(faults, func(f fault) bool { return slices.Contains(c.Faults, f.Name) })
}

// with adds faults that need something, unless there was an error in getting it.
func (e engine) with(faults []fault, err error) engine {
	if err != nil {
		e.leftOut = append(e.leftOut, leftOut{faults, err})
		return e
	}
	e.faults = slices.Concat(e.faults, faults)
	return e
}

// openEngine starts a private engine, or takes the user's.
func openEngine(ctx context.Context, t *run) (engine, error) {
	switch t.Store {
	case "sqlite":
		return openFile(t), nil
	case "postgres":
		return openCluster(t)
	case "etcd":
		return openMembers(t)
	}
	// A new store at a mistyped address would prove nothing about the user's.
	err := stores.MustExist(ctx, t.Store)
	return engine{store: t.Store, about: stores.Redacted(t.Store), faults: serverFaults}, err
}
