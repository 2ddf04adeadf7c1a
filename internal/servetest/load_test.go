package servetest_test

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// measure is true when make baselines runs this package. Next to other packages a server gets
// an unknown part of the processor, and then how fast it answers says nothing about it.
var measure = flag.Bool("baselines", false, "also check how fast servers answer; nothing else may run beside it")

// loadGenerator reserves names on many connections with little overhead, so that it can
// overload a server on the same machine: it uses no HTTP client.
type loadGenerator struct {
	t     *testing.T
	conns []*worker
}

// outcome is the result of a load.
type outcome struct {
	lasted   time.Duration
	counts   map[int]int     // by status
	took     []time.Duration // of those that were served, sorted
	unsent   int             // no connection was free
	problems []string        // wrong answers
}

func (o outcome) rate(status int) float64 { return float64(o.counts[status]) / o.lasted.Seconds() }

// shed is how many requests the server refused because of the load.
func (o outcome) shed() int {
	return o.counts[http.StatusServiceUnavailable] + o.counts[http.StatusTooManyRequests]
}

// String formats the outcome in a line.
func (o outcome) String() string {
	if len(o.took) == 0 {
		return fmt.Sprint(o.counts)
	}
	return fmt.Sprintf("%.0f/s reserved, %v by status, p50 %v, p99 %v", o.rate(http.StatusCreated), o.counts,
		percentile(o.took, 50).Round(100*time.Microsecond), percentile(o.took, 99).Round(100*time.Microsecond))
}

func newLoadGenerator(t *testing.T, url string, size int) *loadGenerator {
	t.Helper()
	c := &loadGenerator{t: t}
	for range size {
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		c.conns = append(c.conns, &worker{conn: conn, in: bufio.NewReaderSize(conn, 1024)})
	}
	return c
}

// tally collects an outcome from many workers.
type tally struct {
	mu      sync.Mutex
	outcome outcome
}

func (t *tally) add(status int, took time.Duration, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.outcome.counts[status]++
	switch {
	case err != nil:
		if len(t.outcome.problems) < 5 {
			t.outcome.problems = append(t.outcome.problems, err.Error())
		}
	case status == http.StatusCreated:
		t.outcome.took = append(t.outcome.took, took)
	}
}

func (t *tally) end(begin time.Time) outcome {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.outcome.lasted = time.Since(begin)
	slices.Sort(t.outcome.took)
	return t.outcome
}

func newTally() *tally { return &tally{outcome: outcome{counts: make(map[int]int)}} }

// closedLoop lets workers reserve one name after another, as fast as the server answers.
func (c *loadGenerator) closedLoop(word string, workers int, lasts time.Duration) outcome {
	tally, begin := newTally(), time.Now()
	var all sync.WaitGroup
	var n atomic.Int64
	for _, w := range c.conns[:workers] {
		all.Go(func() {
			for time.Since(begin) < lasts {
				tally.add(w.reserve(fmt.Sprintf("%s-%d", word, n.Add(1))))
			}
		})
	}
	all.Wait()
	return tally.end(begin)
}

// openLoop reserves names at a fixed rate, independent of the answers.
func (c *loadGenerator) openLoop(word string, rate int, lasts time.Duration) outcome {
	tally, jobs := newTally(), make(chan string) // unbuffered: only an idle worker receives
	var all sync.WaitGroup
	for _, w := range c.conns {
		all.Go(func() {
			for name := range jobs {
				tally.add(w.reserve(name))
			}
		})
	}
	begin := time.Now()
	pace := time.NewTicker(time.Millisecond)
	defer pace.Stop()
	unsent := 0
	for sent := 0; time.Since(begin) < lasts; <-pace.C {
		for due := int(time.Since(begin).Seconds() * float64(rate)); sent < due; sent++ {
			select {
			case jobs <- fmt.Sprintf("%s-%d", word, sent):
			default:
				unsent++
			}
		}
	}
	o := tally.end(begin) // later answers do not count
	close(jobs)
	all.Wait()
	o.unsent = unsent
	return o
}

// worker is one connection.
type worker struct {
	conn net.Conn
	in   *bufio.Reader
	out  bytes.Buffer
}

// reserve sends a request and reads the answer. It returns an error for an unexpected answer.
func (w *worker) reserve(name string) (status int, took time.Duration, err error) {
	body := `{"namespace": "slug", "value": "` + name + `"}`
	w.out.Reset()
	fmt.Fprintf(&w.out, "POST /v1/reservations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	begin := time.Now()
	_ = w.conn.SetDeadline(begin.Add(patience))
	if _, err := w.conn.Write(w.out.Bytes()); err != nil {
		return 0, 0, err
	}
	status, retry, err := w.answer()
	took = time.Since(begin)
	switch {
	case err != nil:
		return 0, took, err
	case status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests:
		if retry == "" {
			err = fmt.Errorf("%d has no Retry-After", status)
		}
	case status != http.StatusCreated:
		err = fmt.Errorf("unexpected status %d", status)
	}
	return status, took, err
}

var (
	contentLength = []byte("Content-Length: ")
	retryAfter    = []byte("Retry-After: ")
)

// answer reads an answer, and its Retry-After.
func (w *worker) answer() (status int, retry string, err error) {
	line, err := w.in.ReadSlice('\n')
	if err != nil {
		return 0, "", err
	}
	if len(line) < 12 {
		return 0, "", errors.New("no status line")
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, "", err
	}
	length := -1
	for {
		if line, err = w.in.ReadSlice('\n'); err != nil {
			return 0, "", err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if text, ok := bytes.CutPrefix(line, contentLength); ok {
			if length, err = strconv.Atoi(string(text)); err != nil {
				return 0, "", err
			}
		}
		if text, ok := bytes.CutPrefix(line, retryAfter); ok {
			retry = string(text)
		}
	}
	if length < 0 {
		return 0, "", errors.New("the answer has no Content-Length")
	}
	_, err = io.CopyN(io.Discard, w.in, int64(length))
	return status, retry, err
}

// probe asks whether a server is up, over a new connection each time, until it is
// stopped. It returns the sorted durations of the answers.
func probe(t *testing.T, url string) (stop func() []time.Duration) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	stopping, took := make(chan struct{}), make(chan []time.Duration, 1)
	go func() {
		var all []time.Duration
		pace := time.NewTicker(10 * time.Millisecond)
		defer pace.Stop()
		for {
			begin := time.Now()
			if a, err := ask(client, http.MethodGet, url+"/healthz", ""); err != nil || a.status != http.StatusOK {
				t.Errorf("/healthz: %d, %v", a.status, err)
			}
			all = append(all, time.Since(begin))
			select {
			case <-stopping:
				slices.Sort(all)
				took <- all
				return
			case <-pace.C:
			}
		}
	}()
	stop = sync.OnceValue(func() []time.Duration {
		close(stopping)
		return <-took
	})
	t.Cleanup(func() { stop() }) // also when the test has failed
	return stop
}

// percentile returns a percentile of sorted durations; zero if there are none.
func percentile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, len(sorted)*percent/100)]
}

// cpu returns the processor time of a process; 0 if the system does not tell.
func (p *process) cpu() time.Duration {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/stat")
	if err != nil {
		return 0
	}
	_, behind, _ := strings.Cut(string(stat), ") ") // the name may contain spaces
	fields := strings.Fields(behind)
	const user, system, tick = 11, 12, 10 * time.Millisecond
	if len(fields) <= system {
		return 0
	}
	u, _ := strconv.Atoi(fields[user])
	s, _ := strconv.Atoi(fields[system])
	return time.Duration(u+s) * tick
}

var residentLine = regexp.MustCompile(`VmRSS:\s+(\d+) kB`)

// resident returns the memory of a process in MB; false if the system does not tell.
func (p *process) resident() (int, bool) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/status")
	if err != nil {
		return 0, false
	}
	line := residentLine.FindStringSubmatch(string(status))
	if line == nil {
		return 0, false
	}
	kB, err := strconv.Atoi(strings.TrimSpace(line[1]))
	return kB / 1000, err == nil
}
