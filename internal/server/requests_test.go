package server

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/limit"
)

// The maximum cost of a request.
const (
	mostTime      = time.Second
	mostAllocated = 32 << 20 // bytes, of a refused request
	mostGrowth    = 32 << 20 // bytes of memory still in use afterwards
)

// fuzzing sends generated requests to a real server.
type fuzzing struct {
	*rig
	*generator
	doc    *document
	client *wireClient

	sent, lost int
	statuses   map[int]int
	reached    map[string]map[int]int // by call and status
	slowest    time.Duration
	costliest  uint64 // bytes, of a refused request
}

// startFuzzing starts a server, with keys or without.
func startFuzzing(tb testing.TB, e engine, withKeys bool) *fuzzing {
	tb.Helper()
	var callers map[string]access.Caller
	if withKeys {
		callers = scriptCallers
	}
	limits := limit.Defaults() // counting takes memory
	often := limit.Rate{N: 1_000_000, Per: time.Second}
	limits.Reads, limits.Writes, limits.Checks, limits.SignIn = often, often, often, often
	r := newRig(tb, e, callers, func(c *Config) {
		c.Limits = limits
		c.Logger = slog.New(slog.DiscardHandler)
	})
	f := &fuzzing{
		rig: r, generator: newGenerator(r, slices.Sorted(maps.Keys(callers))), doc: readDocument(r),
		statuses: make(map[int]int), reached: make(map[string]map[int]int),
	}
	f.makeDeadLetters()
	f.client = &wireClient{addr: r.listen(Timeouts{})}
	tb.Cleanup(f.client.close)
	return f
}

// makeDeadLetters makes a webhook whose receiver fails, and waits for dead letters.
func (f *fuzzing) makeDeadLetters() {
	f.Helper()
	fails := newReceiver(f)
	fails.status = http.StatusInternalServerError
	header := http.Header{"Authorization": {"Bearer key-all"}}
	_, text := f.send(http.MethodPost, webhooksPath, header, `{"url":"`+fails.URL+`","from":"beginning"}`)
	var hook struct{ ID string }
	if err := json.Unmarshal([]byte(text), &hook); err != nil || hook.ID == "" {
		f.Fatalf("no webhook: %s", text)
	}
	for _, value := range []string{"a", "b", "c"} {
		f.send(http.MethodPost, "/v1/reservations", header, `{"namespace":"any","value":"`+value+`"}`)
	}
	f.deliver()
	eventually(f, "there are dead letters", func() bool {
		_, text := f.send(http.MethodGet, strings.Replace(lettersPath, "{id}", hook.ID, 1), header, "")
		return strings.Count(text, "dl_") > 2
	})
	f.beforeClose()
	f.beforeClose = func() {}
	f.deadHook, f.known.not = hook.ID, hook.ID
}

// one sends one request, and returns what is wrong with the response.
func (f *fuzzing) one(t testing.TB, d *dice) error {
	t.Helper()
	f.dice = d
	request := f.next()
	request.text() // before the allocations of the server are measured
	before := allocated()
	answer, err := f.client.send(request)
	spent := allocated() - before
	f.sent++
	if errors.Is(err, errCutOff) {
		f.lost++
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, request)
	}
	f.statuses[answer.status]++
	f.slowest = max(f.slowest, answer.took)
	if answer.status >= 400 {
		f.costliest = max(f.costliest, spent)
	}
	if wrong := f.check(t, request, answer, spent); wrong != "" {
		return fmt.Errorf("%s: %s\n%d %v %.1000s", wrong, request, answer.status, answer.header, answer.body)
	}
	var value any
	if answer.status < 300 && json.Unmarshal([]byte(answer.body), &value) == nil {
		f.known.learnAll(value)
	}
	return nil
}

// check returns what is wrong with a response; empty if nothing is.
func (f *fuzzing) check(t testing.TB, request *fuzzedRequest, answer *fuzzedAnswer, spent uint64) string {
	t.Helper()
	gone := request.framing == cutOff && answer.status == http.StatusServiceUnavailable // the client disconnected
	if answer.status >= 500 && !gone {
		return "internal error"
	}
	if answer.took > mostTime && f.isSlow(request) {
		return fmt.Sprintf("it took %v", answer.took)
	}
	if answer.status >= 400 {
		// Reports are not shortened.
		if len(answer.body) > maxProblem && !strings.Contains(answer.body, `"report":`) {
			return fmt.Sprintf("the answer has %d bytes", len(answer.body))
		}
		if spent > mostAllocated && f.isCostly(request) {
			return fmt.Sprintf("%d MiB were allocated", spent>>20)
		}
	}
	if answer.header.Get("X-Content-Type-Options") == "" && !answer.stream {
		if answer.status >= 400 || answer.status == http.StatusOK && request.method == http.MethodOptions {
			return "" // a response of net/http itself
		}
		return "a response that is not ours"
	}
	return f.compare(t, request, answer)
}

// isSlow reports whether a request is slow repeatedly: once may be the machine.
func (f *fuzzing) isSlow(request *fuzzedRequest) bool {
	for range 3 {
		answer, err := f.client.send(request)
		if err == nil && answer.took <= mostTime {
			return false
		}
	}
	return true
}

// isCostly reports whether a request allocates much repeatedly: once may be the other goroutines of the process.
func (f *fuzzing) isCostly(request *fuzzedRequest) bool {
	for range 3 {
		before := allocated()
		if _, err := f.client.send(request); err == nil && allocated()-before <= mostAllocated {
			return false
		}
	}
	return true
}

// compare compares a response with the document.
func (f *fuzzing) compare(t testing.TB, request *fuzzedRequest, answer *fuzzedAnswer) string {
	t.Helper()
	asked, err := http.ReadRequest(bufio.NewReader(strings.NewReader(request.text())))
	if err != nil || asked.Method == http.MethodHead || asked.Method == http.MethodConnect {
		return ""
	}
	_, route := f.server.mux.Handler(asked)
	if op, ok := f.doc.operation(route); ok {
		if f.reached[op.OperationID] == nil {
			f.reached[op.OperationID] = make(map[int]int)
		}
		f.reached[op.OperationID][answer.status]++
	}
	if answer.status >= 500 || answer.stream || isTidied(asked, answer) {
		return ""
	}
	failures := &failureList{TB: t}
	f.doc.checkAnswer(failures, route, reply{answer.status, answer.header}, answer.body)
	return strings.Join(failures.list, "; ")
}

// isTidied reports whether an answer is a redirect to the clean path, which is not in the document.
func isTidied(asked *http.Request, answer *fuzzedAnswer) bool {
	clean := path.Clean(asked.URL.Path)
	return answer.status/100 == 3 && (strings.HasPrefix(answer.header.Get("Content-Type"), htmlType) ||
		clean != asked.URL.Path && strings.HasPrefix(answer.header.Get("Location"), clean))
}

// failureList collects failures.
type failureList struct {
	testing.TB
	list []string
}

func (f *failureList) Errorf(format string, args ...any) {
	f.list = append(f.list, fmt.Sprintf(format, args...))
}

// inUse returns the memory in use after a garbage collection.
func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// fuzzedEngines are the engines that TestRequests can have.
var fuzzedEngines = map[string]engine{"memory": inMemory, "sqlite": onSQLite, "postgres": onPostgres}

// TestRequests sends thousands of valid and odd requests: as many as the variable REQUESTS says,
// others for another SEED, to servers on the ENGINES. It runs alone, because it measures.
func TestRequests(t *testing.T) {
	requests, seed := fromEnv(t, "REQUESTS", 2400), fromEnv(t, "SEED", 1)
	if testing.Short() {
		requests /= 12 // one after the other
	}
	type run struct {
		name string
		engine
		keys bool
	}
	var runs []run
	for name := range strings.SplitSeq(cmp.Or(os.Getenv("ENGINES"), "memory,sqlite"), ",") {
		e, ok := fuzzedEngines[name]
		if !ok {
			t.Fatalf("ENGINES has %q, and these exist: %v", name, slices.Sorted(maps.Keys(fuzzedEngines)))
		}
		runs = append(runs, run{name, e, false}, run{name + " with keys", e, true})
	}
	requests /= len(runs)
	for _, c := range runs {
		t.Run(c.name, func(t *testing.T) {
			f := startFuzzing(t, c.engine, c.keys)
			start, half, goroutines, failed := time.Now(), uint64(0), 0, 0
			for i := range requests {
				if err := f.one(t, newDice(uint64(seed)<<32+uint64(i), nil)); err != nil {
					t.Errorf("request %d of seed %d: %v", i, seed, err)
					if failed++; failed == 5 {
						t.FailNow()
					}
				}
				if i == requests/2 {
					half, goroutines = inUse(), runtime.NumGoroutine()
				}
			}
			f.client.close()
			growth := int64(inUse()) - int64(half)
			t.Logf("%d requests in %v, %d of them cut off; the slowest took %v, the costliest refusal %d KiB; memory grew by %d KiB; answers: %v",
				f.sent, time.Since(start).Round(time.Millisecond), f.lost, f.slowest.Round(time.Millisecond), f.costliest>>10, growth>>10, f.statuses)
			t.Logf("figure: requests = %d", f.sent)
			// The memory store keeps its names in memory.
			if growth > mostGrowth && c.engine.name != inMemory.name {
				t.Errorf("memory grew by %d MiB", growth>>20)
			}
			eventually(t, "no goroutine is left over", func() bool { return runtime.NumGoroutine() <= goroutines+5 })
			if f.lost > f.sent/100 {
				t.Errorf("%d of %d answers were lost", f.lost, f.sent)
			}
			f.wantDepth(t, requests)
		})
	}
}

func fromEnv(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// wantDepth demands that every call was answered, and that most succeeded at least once.
func (f *fuzzing) wantDepth(t *testing.T, requests int) {
	t.Helper()
	if requests < 500 {
		return
	}
	done := 0
	for _, call := range f.calls {
		statuses := f.reached[call.OperationID]
		if len(statuses) == 0 {
			t.Errorf("%s was never called", call.OperationID)
		}
		if slices.ContainsFunc(slices.Collect(maps.Keys(statuses)), func(status int) bool { return status < 400 }) {
			done++
		}
	}
	t.Logf("%d of %d calls succeeded at least once", done, len(f.calls))
	if done < len(f.calls)*2/3 {
		t.Errorf("only %d of %d calls ever succeeded: %v", done, len(f.calls), f.reached)
	}
}

// FuzzRequests lets the fuzzer choose the requests.
func FuzzRequests(f *testing.F) {
	open, closed := startFuzzing(f, inMemory, false), startFuzzing(f, onSQLite, true)
	f.Add([]byte("any"))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := newDice(1, data)
		target := pick(d, open, closed)
		for range 4 {
			if err := target.one(t, d); err != nil {
				t.Fatal(err)
			}
			if len(d.data) == 0 {
				return
			}
		}
	})
}
