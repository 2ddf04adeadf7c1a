package queueing

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/calldibs/dibs/internal/figures"
)

// Target is what a registry has to carry.
type Target struct {
	Names     float64
	PerSecond float64 // reservations
}

// Machine is the machine of one part, a PostgreSQL primary. Its standby is another one.
type Machine struct {
	Cores      int
	Efficiency float64 // what is left of the cores when many sessions share locks and the log
	Headroom   float64 // the share of all that is planned for
	Disk       float64 // bytes
	Log        float64 // bytes a second that disk and standby take for ever
	Commit     time.Duration
}

// Usual is a machine of a usual size. None of this is measured: it is what the plan assumes.
var Usual = Machine{Cores: 16, Efficiency: 0.5, Headroom: 0.5, Disk: 2e12, Log: 200e6, Commit: time.Millisecond}

// Costs are the measured costs of a reservation.
type Costs struct {
	Model Model   // of PostgreSQL, on processors of its own
	Name  float64 // bytes on disk for each confirmed name
	Log   float64 // bytes of write-ahead log for each reservation, among many names
	Etcd  float64 // reservations a second of three members on the machine that was measured
}

// EtcdName is the size of a name on each member in bytes, and EtcdQuota the largest database
// that etcd recommends: see docs/engines.md.
const (
	EtcdName  = 1100
	EtcdQuota = 8 << 30
)

// CostsOf returns what was measured.
func CostsOf(speed, growth figures.Run) (c Costs, err error) {
	if c.Model, err = measured(speed); err != nil {
		return Costs{}, err
	}
	for _, r := range append(speed.Results, growth.Results...) {
		switch {
		case r.Goal == "G3" && strings.HasPrefix(r.What, "bytes per name on PostgreSQL, after load"):
			c.Name = r.Ours.Median
		case strings.HasPrefix(r.What, "log per reserve"):
			c.Log = r.Ours.Median
		case r.Goal == "S9":
			c.Etcd = r.Ours.Median
		}
	}
	if c.Name == 0 || c.Log == 0 || c.Etcd == 0 {
		return Costs{}, fmt.Errorf("the runs lack the size of a name, its log, or etcd: %+v", c)
	}
	return c, nil
}

// Need is how many parts a target takes: the most that any of its bounds asks for.
type Need struct {
	Parts                  int // of PostgreSQL
	ByWork, ByLog, ByNames int
	Etcd                   int // clusters of etcd
}

// Plan returns what a target needs on machines of one kind.
func (c Costs) Plan(t Target, m Machine) Need {
	parts := func(v float64) int { return max(int(math.Ceil(v/m.Headroom)), 1) }
	n := Need{
		ByWork:  parts(t.PerSecond / c.PartRate(m)),
		ByLog:   parts(t.PerSecond * c.Log / m.Log),
		ByNames: parts(t.Names * c.Name / m.Disk),
		Etcd:    max(parts(t.PerSecond/c.Etcd), parts(t.Names*EtcdName/EtcdQuota)),
	}
	n.Parts = max(n.ByWork, n.ByLog, n.ByNames)
	return n
}

// PartRate simulates a part with as many writers as cores: several servers have two each.
func (c Costs) PartRate(m Machine) float64 {
	part := c.Model
	part.Cores, part.Writers, part.Callers, part.Commit = m.Cores, m.Cores, 4096, m.Commit
	return m.Efficiency * part.Simulate(time.Second).PerSecond
}

// Targets are what docs/scale.md plans.
var Targets = []Target{{10e6, 1000}, {100e6, 10_000}, {1e9, 100_000}}
