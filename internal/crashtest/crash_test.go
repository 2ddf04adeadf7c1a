//go:build unix

package crashtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/copier"
	"github.com/calldibs/dibs/internal/harness"
	"github.com/calldibs/dibs/internal/parallel"
)

// flow is something that a program does with a registry. A process that runs act is killed at each
// of its steps. Other processes run the rest.
type flow struct {
	name     string
	policies func(w *world) map[string]dibs.Policy
	small    bool // commits are small, and come one after the other
	running  bool // the engine's clock runs; otherwise it shows the same time always

	prepare func(w *world) // what was there before
	later   time.Duration  // passes between that and the rest
	act     func(w *world)
	crashed func(w *world) // what must hold before anything is begun again; nil means no more than of every store
	resume  func(w *world) // what the documentation says to do after a crash
	check   func(w *world) // what must hold in the end
	// same says that in the end every record and event must be as if the process had not been
	// killed.
	same bool
	// stores are the names of the stores; nil means "names".
	stores []string
	// mayFind are the checks of dibs verify that need not hold in between.
	mayFind []string
}

func (f *flow) storeNames() []string {
	if f.stores == nil {
		return []string{"names"}
	}
	return f.stores
}

// order tells a child process what to do.
type order struct {
	Flow  string `json:"flow"`
	Site  site   `json:"site"`
	Dir   string `json:"dir"`
	Again bool   `json:"again"` // the flow is begun again
	Dies  int    `json:"dies"`
	After bool   `json:"after"`
}

const childEnv = "DIBS_CRASH_CHILD"

// TestMain lets the test binary run as the process that is killed.
func TestMain(m *testing.M) {
	if text := os.Getenv(childEnv); text != "" {
		os.Exit(child(text))
	}
	parallel.PerProcessor(2)
	os.Exit(m.Run())
}

// child runs a flow, and prints its steps if it was not killed.
func child(text string) int {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	run := harness.New(context.Background())
	w := &world{TB: run, flow: flowNamed(o.Flow), site: o.Site, dir: o.Dir, later: flowNamed(o.Flow).later, life: &life{dies: o.Dies, after: o.After}}
	err := run.Do(func() {
		if o.Again {
			w.flow.resume(w)
		} else {
			w.flow.act(w)
		}
		w.close()
	})
	if err == nil {
		err = run.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode(w.life.steps); err != nil {
		return 1
	}
	return 0
}

func flowNamed(name string) *flow {
	for _, list := range [][]flow{flows, wrongFlows} {
		if i := slices.IndexFunc(list, func(f flow) bool { return f.name == name }); i >= 0 {
			return &list[i]
		}
	}
	panic("there is no flow " + name)
}

// thorough says at which moments processes are killed. A step that only reads leaves nothing behind, so
// what is there before the next step is what was there before it; but only a run of all moments shows
// that.
type thorough int

const (
	once        thorough = iota // after the second step
	afterWrites                 // after each step that may change something, and at the beginning
	aroundSteps                 // and before and after every other one; the process that begins again is killed once more
)

// howThorough returns how thorough a test is, and on which engines. The short one is for the race detector: a flow has the
// same goroutines however often it is killed, and on every engine.
func howThorough() (thorough, []string) {
	switch {
	case os.Getenv("DIBS_TEST_LONG") != "":
		return aroundSteps, []string{"sqlite", "postgres"}
	case testing.Short():
		return once, []string{"sqlite"}
	}
	return afterWrites, []string{"sqlite", "postgres"}
}

// kills reports whether a process is killed before or after a step.
func (t thorough) kills(number int, s step, after bool) bool {
	switch t {
	case once:
		return after && number == 2
	case afterWrites:
		return after && s.Write || !after && number == 1
	}
	return true
}

// TestCrashAtEveryStep kills the process of each flow on each engine before and after each step.
func TestCrashAtEveryStep(t *testing.T) {
	thorough, on := howThorough()
	var steps, kills atomic.Int64
	t.Run("flows", func(t *testing.T) {
		for i := range flows {
			for _, name := range on {
				t.Run(flows[i].name+"/"+name, func(t *testing.T) {
					t.Parallel()
					c := &crash{T: t, flow: &flows[i], engine: engines[name], thorough: thorough, kills: &kills}
					steps.Add(int64(c.run()))
				})
			}
		}
	})
	t.Logf("figure: flows on %d engines = %d\nfigure: steps = %d\nfigure: kills = %d", len(on), len(flows), steps.Load(), kills.Load())
}

// crash is the test of one flow on one engine.
type crash struct {
	*testing.T
	flow     *flow
	engine   engine
	thorough thorough

	prepared site
	end      map[string][]string // what the stores have in the end of a process that is not killed
	kills    *atomic.Int64
}

// run returns how many steps there are.
func (c *crash) run() int {
	steps := c.uninterrupted()
	for i, s := range steps {
		for _, after := range []bool{false, true} {
			if c.thorough.kills(i+1, s, after) {
				c.Run(moment(i+1, s, after), func(t *testing.T) {
					t.Parallel()
					c.killed(t, t, i+1, after)
				})
			}
		}
	}
	return len(steps)
}

func moment(number int, s step, after bool) string {
	if after {
		return fmt.Sprintf("after step %d, %s", number, s.Name)
	}
	return fmt.Sprintf("before step %d, %s", number, s.Name)
}

// world returns a world whose checks fail tb.
func (c *crash) world(t *testing.T, tb harness.TB, at site) *world {
	t.Helper()
	return &world{TB: tb, flow: c.flow, site: at, dir: t.TempDir(), later: c.flow.later}
}

// uninterrupted prepares the flow, runs it without a crash, and returns its steps. Beginning again must
// change nothing then.
func (c *crash) uninterrupted() (steps []step) {
	c.prepared = c.engine.create(c.T)
	before := c.world(c.T, c.T, c.prepared)
	before.later = 0
	c.flow.prepare(before)
	before.close()
	w := c.world(c.T, c.T, c.engine.clone(c.T, c.prepared))
	steps, killed := c.child(c.T, w, order{})
	if killed || len(steps) == 0 {
		c.Fatalf("the process was killed: %v, it had %d steps", killed, len(steps))
	}
	c.end = make(map[string][]string)
	for _, name := range c.flow.storeNames() {
		c.end[name] = w.dump(name)
	}
	c.resumeAndCheck(w)
	return steps
}

// killed kills a process, begins again, and checks what there is. Checks fail tb.
func (c *crash) killed(t *testing.T, tb harness.TB, dies int, after bool) {
	t.Helper()
	w := c.world(t, tb, c.engine.clone(t, c.prepared))
	steps, killed := c.child(t, w, order{Dies: dies, After: after})
	// On a busy machine the process whose steps were counted may have had to try something twice.
	if !killed && len(steps) >= dies {
		t.Fatalf("the process was not killed at step %d of %d", dies, len(steps))
	}
	if killed {
		c.kills.Add(1)
	}
	for _, name := range c.flow.storeNames() {
		if from := must[string](w)(copier.Unfinished(w.ctx(), w.store(name))); from == "" { // no server uses it otherwise
			w.wantSound(name, c.flow.mayFind...)
		}
	}
	if c.flow.crashed != nil {
		c.flow.crashed(w)
	}
	if c.thorough == aroundSteps {
		w.close()
		// The next process is killed, too, at one of its first steps, if it has that many.
		if _, killed := c.child(t, w, order{Again: true, Dies: 1 + dies%7, After: after}); killed {
			c.kills.Add(1)
		}
	}
	c.resumeAndCheck(w)
}

// resumeAndCheck begins again in a world, and checks what there is in the end.
func (c *crash) resumeAndCheck(w *world) {
	w.Helper()
	c.flow.resume(w)
	w.end = make(map[string][]string)
	for _, name := range c.flow.storeNames() {
		w.wantSound(name)
		if c.flow.same {
			w.end[name] = w.dump(name)
			if d := difference(w.end[name], c.end[name]); d != "" {
				w.Errorf("the store %s differs from that of a process that was not killed:\n%s", name, d)
			}
		}
	}
	c.flow.check(w)
	w.close()
}

// child runs the flow in a process of its own, and returns its steps unless it was killed.
func (c *crash) child(t *testing.T, w *world, o order) (steps []step, killed bool) {
	t.Helper()
	o.Flow, o.Site, o.Dir = c.flow.name, w.site, w.dir
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	process := exec.CommandContext(t.Context(), os.Args[0])
	process.Env = append(os.Environ(), childEnv+"="+string(text))
	var said bytes.Buffer
	process.Stderr = &said
	out, err := process.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return nil, true
	}
	if err != nil {
		t.Fatalf("the process failed before it was killed: %v: %s", err, &said)
	}
	if err := json.Unmarshal(out, &steps); err != nil {
		t.Fatalf("the process printed %q: %v", out, err)
	}
	return steps, false
}
