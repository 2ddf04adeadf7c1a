package torture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	stores "github.com/calldibs/dibs/internal/engine"
	"github.com/calldibs/dibs/internal/harness"
	"github.com/calldibs/dibs/internal/linear"
	"github.com/calldibs/dibs/internal/testdisk"
)

// Config is a run. Its zero value needs a Program.
type Config struct {
	// Program starts dibs: its path, and the arguments before those of a command.
	Program []string
	// Env is the environment of the servers. Nil means that of this process, without settings
	// of Dibs.
	Env []string
	// Store is the engine: "sqlite", "postgres" and "etcd" are private ones, which are removed
	// afterwards; all else is the address of a store. Empty means sqlite.
	Store string
	// Etcd is the program of private etcd members. Empty means the one in the PATH.
	Etcd string
	// Servers is the number of servers on the store. Zero means 2.
	Servers int
	// Callers is about how many callers there are at a time. Zero means 16.
	Callers int
	// For is how long it runs, without the last checks. Zero means no limit.
	For time.Duration
	// Histories ends the run after this many histories. Zero means no limit.
	Histories int
	// Each ends the run once each fault has happened this often. Zero means no limit.
	Each int
	// Faults are the names of the faults that happen, see [Faults]. Nil means all that the
	// engine has.
	Faults []string
	// Seed decides what callers do and which faults happen. Zero means a random one.
	Seed uint64
	// Folder gets a new folder with logs, pictures of violations and other files of the run. Empty
	// means that of temporary files, where it only stays if anything is wrong.
	Folder string
	// Progress is called about once a second, and when something happens. Nil means not.
	Progress func(Progress)

	// between puts something between the link to a server and the server: it gets the address
	// of the server, and returns its own. It is for tests.
	between func(server int, address string) string
}

// Progress is how far a run is.
type Progress struct {
	Elapsed    time.Duration
	Of         time.Duration // zero means no limit
	Histories  int
	Operations int
	Unknown    int
	Faults     int
	Violations int
	Doing      string // "start", "histories", "audit", or empty between them
}

// mostOfRound is how long a round lasts: an audit needs memory for its events, and finds what is
// wrong soon.
const mostOfRound = time.Minute

// patience is how long a caller waits for an answer.
const patience = 2 * time.Second

func (c Config) withDefaults() (Config, error) {
	c.Store, c.Servers, c.Callers = cmp.Or(c.Store, "sqlite"), cmp.Or(c.Servers, 2), cmp.Or(c.Callers, 16)
	c.Seed = cmp.Or(c.Seed, rand.Uint64()>>24) // short enough to be typed
	if c.Env == nil {
		c.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "DIBS_") })
	}
	if c.Progress == nil {
		c.Progress = func(Progress) {}
	}
	switch {
	case c.Servers < 1 || c.Servers > 16:
		return c, fmt.Errorf("%d servers: there may be 1 to 16", c.Servers)
	case c.Callers < 1 || c.Callers > 1000:
		return c, fmt.Errorf("%d callers: there may be 1 to 1,000", c.Callers)
	case c.For < 0 || c.Histories < 0 || c.Each < 0:
		return c, errors.New("the length of a run must not be negative")
	case c.Each > 0 && c.Faults != nil && len(c.Faults) == 0:
		return c, errors.New("--each counts faults, and there are none: leave it out")
	case c.Etcd != "" && c.Store != "etcd":
		return c, errors.New("--etcd is for private etcd members: dibs torture etcd")
	}
	return c, nil
}

// Check returns what is wrong with a configuration, as far as that can be told before a run.
func (c Config) Check() error {
	if _, err := c.withDefaults(); err != nil {
		return err
	}
	for _, name := range c.Faults {
		if err := c.checkFault(name); err != nil {
			return err
		}
	}
	switch {
	case c.isPrivate():
		return nil
	case c.Store == "mem:":
		return errors.New("servers cannot share a store in memory: leave --store out")
	}
	return stores.Check(c.Store)
}

// ErrInterrupted is about a run that ended with its context before it had anything to report.
var ErrInterrupted = errors.New("interrupted")

// ErrTooShort is about a run whose time was over before anything happened.
var ErrTooShort = errors.New("the time was too short")

// Run tortures servers until the time is over, the histories are done, or ctx ends. The error is
// about the run itself; what the servers did wrong is in the report.
func Run(ctx context.Context, cfg Config) (report Report, err error) {
	if cfg, err = cfg.withDefaults(); err != nil {
		return Report{}, err
	}
	h := harness.New(context.WithoutCancel(ctx))
	t := &run{Config: cfg, harness: h, began: time.Now(), scope: cfg.newScope(), service: make(map[string][]time.Duration)}
	defer func() { err = errors.Join(err, h.Close()) }()
	// A folder of the user's may have a dibs.toml, a names.db, or the logs of an earlier run.
	if t.Folder, err = os.MkdirTemp(cfg.Folder, "dibs-torture-"); err != nil {
		return Report{}, err
	}
	t.keeps = cfg.Folder != ""
	forget := func() {}
	if !t.keeps {
		forget = harness.GuardFolder(t.Folder)
	}
	h.Cleanup(func() {
		nothing := len(t.servers) == 0 || errors.Is(err, ErrInterrupted) || errors.Is(err, ErrTooShort)
		if (report.OK || nothing) && !t.keeps {
			os.RemoveAll(t.Folder)
		}
		forget()
	})
	if err = t.open(ctx); ctx.Err() != nil && !errors.Is(err, ErrInterrupted) {
		err = fmt.Errorf("%w before the servers listened", ErrInterrupted)
	}
	if err == nil {
		err = t.rounds(ctx)
	}
	if err == nil {
		t.examineServers()
		report = t.report(ctx.Err() != nil)
		err = report.proves(t.For)
	}
	switch {
	case err == nil:
		return report, nil
	case len(t.servers) > 0 && !errors.Is(err, ErrInterrupted) && !errors.Is(err, ErrTooShort):
		return Report{}, fmt.Errorf("%w; the logs of the servers are in %s", err, t.Folder)
	}
	return Report{}, err
}

// run is a run while it goes on.
type run struct {
	Config
	harness *harness.Run
	began   time.Time
	scope   string // of all names
	keeps   bool   // the folder stays in any case
	engine  engine
	file    string         // of a private SQLite engine
	disk    *testdisk.Disk // with the data of a private engine; nil if it has none of its own
	cluster *cluster       // a private PostgreSQL engine
	members *members       // a private etcd engine
	servers []*server
	faults  []fault

	sum     linear.Report // of all rounds
	audit   *audit        // of this round
	earlier []earlier     // some histories of the rounds before
	audited Audit
	damaged Damaged
	service map[string][]time.Duration // from the end of a fault's cause to service, by fault
	broken  error                      // why no more faults can happen

	witnesses witnesses // of the last fault that undo asks for

	mu    sync.Mutex
	wrong []Violation
}

// found notes violations.
func (t *run) found(wrong ...Violation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wrong = append(t.wrong, wrong...)
}

func (t *run) violations() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.wrong)
}

func (t *run) rounds(ctx context.Context) error {
	if t.For > 0 {
		limited, cancel := context.WithTimeout(ctx, t.For)
		defer cancel()
		ctx = limited
	}
	for number := uint64(1); ctx.Err() == nil && t.violations()+len(t.sum.Violations) == 0; number++ {
		left := 0
		if t.Histories > 0 {
			if left = t.Histories - t.sum.Histories; left <= 0 {
				break
			}
		}
		if err := t.round(ctx, number, left); err != nil {
			return err
		}
		if t.eachHappened(t.faults) {
			break
		}
	}
	return nil
}

// eachHappened reports whether faults have happened as often as they should.
func (t *run) eachHappened(faults []fault) bool {
	return t.Each > 0 && !slices.ContainsFunc(faults, func(f fault) bool { return len(t.service[f.Name]) < t.Each })
}

// round runs histories for a while, and audits what they left.
func (t *run) round(ctx context.Context, number uint64, histories int) error {
	ctx, stop := context.WithTimeout(ctx, t.roundLength())
	defer stop()
	a, err := t.beginAudit()
	if err != nil {
		return err
	}
	defer a.stop()
	t.audit = a
	before := t.sum
	t.tell("histories", before)
	random := rand.New(rand.NewPCG(t.Seed, number))
	faults, jumps := t.ofRound(number)
	found := linear.Run(ctx, linear.Site{
		Registries: t.registries(), Patience: patience, Concurrent: (t.Callers + 3) / 4, Scope: t.scope,
		Jumps: jumps, Finished: a.finished, Fault: t.nextFault(ctx, stop, faults, random),
	}, linear.Options{
		Histories: histories, Seed: t.Seed + number<<20, Trace: true, Pictures: t.Folder,
		Progress: func(r linear.Report) {
			sum := before
			sum.Add(r)
			t.tell("", sum)
		},
	})
	t.sum.Add(found)
	if t.broken != nil {
		return nil // there is nothing to audit: see wrong
	}
	t.tell("audit", t.sum)
	t.found(a.compare(&t.audited)...)
	return nil
}

// isPrivate reports whether the run starts an engine for itself.
func (c Config) isPrivate() bool { return slices.Contains(PrivateEngines, cmp.Or(c.Store, "sqlite")) }

// newScope returns a scope for all names of a run. A store of the user's may have names of an earlier run with
// the same seed.
func (c Config) newScope() string {
	scope := fmt.Sprintf("torture-%d", c.Seed)
	if c.isPrivate() {
		return scope
	}
	return scope + "-" + strconv.FormatUint(uint64(rand.Uint32()), 36)
}

func (t *run) tell(doing string, sum linear.Report) {
	p := Progress{
		Elapsed: time.Since(t.began), Of: t.For, Histories: sum.Histories, Operations: sum.Operations, Unknown: sum.Unknown,
		Violations: len(sum.Violations) + t.violations(), Doing: doing,
	}
	for _, n := range sum.Faults {
		p.Faults += n
	}
	t.Progress(p)
}

// nextFault returns the function that injects the next fault and waits for service, until the round
// is stopped. Each fault happens before one of them happens again.
func (t *run) nextFault(ctx context.Context, stop func(), faults []fault, random *rand.Rand) func(*rand.Rand) string {
	if len(faults) == 0 {
		return nil
	}
	var turn []fault // those that have not happened since all have
	return func(*rand.Rand) string {
		if ctx.Err() != nil {
			time.Sleep(10 * time.Millisecond) // the histories are about to end
			return ""
		}
		if len(turn) == 0 {
			turn = slices.Clone(faults)
			random.Shuffle(len(turn), func(i, j int) { turn[i], turn[j] = turn[j], turn[i] })
		}
		f := turn[0]
		turn = turn[1:]
		if t.broken = t.inject(f, random); t.broken != nil {
			t.found(Violation{Kind: "service", What: fmt.Sprintf("after %s: %v", f.Name, t.broken)})
		}
		if t.broken != nil || t.eachHappened(faults) {
			stop()
		}
		return f.Name
	}
}

// inject injects a fault, and waits until every server acknowledges a change.
func (t *run) inject(f fault, random *rand.Rand) error {
	var gone time.Time
	if err := t.harness.Do(func() { gone = f.inject(t, random) }); err != nil {
		return err
	}
	for _, s := range t.servers {
		if err := s.awaitService(t.scope); err != nil {
			return err
		}
	}
	t.service[f.Name] = append(t.service[f.Name], time.Since(gone))
	if f.undo == nil {
		return nil
	}
	return t.harness.Do(func() { f.undo(t, random) })
}
