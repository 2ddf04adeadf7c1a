package workload

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/calldibs/dibs"
)

// The histograms tell latencies from a microsecond to a minute apart, to two digits.
const (
	shortest = int64(time.Microsecond)
	longest  = int64(time.Minute)
	digits   = 2
)

// tally is what became of calls of one kind.
type tally struct {
	latencies *hdr.Histogram // of calls with an answer, in nanoseconds
	refused   map[string]int // by the code of the refusal
	errors    map[string]int
}

func newTally() *tally {
	return &tally{hdr.New(shortest, longest, digits), make(map[string]int), make(map[string]int)}
}

// add counts a call. A refusal, such as a taken name, is an answer; an error is not.
func (t *tally) add(took time.Duration, err error) {
	if err != nil {
		code := "ERROR"
		if e, ok := errors.AsType[*dibs.Error](err); ok {
			code = string(e.Code)
		}
		if code == "ERROR" || errors.Is(err, dibs.ErrUnavailable) || errors.Is(err, dibs.ErrOutcomeUnknown) {
			t.errors[code]++
			return
		}
		t.refused[code]++
	}
	_ = t.latencies.RecordValue(min(max(int64(took), shortest), longest))
}

func (t *tally) merge(other *tally) {
	t.latencies.Merge(other.latencies)
	for code, n := range other.refused {
		t.refused[code] += n
	}
	for code, n := range other.errors {
		t.errors[code] += n
	}
}

func (t *tally) done() int { return int(t.latencies.TotalCount()) }

func (t *tally) failed() (n int) {
	for _, count := range t.errors {
		n += count
	}
	return n
}

func (t *tally) percentile(p float64) time.Duration {
	return time.Duration(t.latencies.ValueAtQuantile(p))
}

// Report is the result of a run.
type Report struct {
	Mix     string  `json:"mix"`
	Callers int     `json:"callers"`
	Names   int     `json:"names,omitempty"`
	Seconds float64 `json:"seconds"`
	// ProcessorMicros is the processor time of this process for each call, in microseconds. It
	// contains that of an embedded engine. Zero means unknown.
	ProcessorMicros float64  `json:"processorMicros,omitempty"`
	Calls           []Result `json:"calls"`
}

// Result is what became of the calls of one kind.
type Result struct {
	Call      Op             `json:"call"`
	Count     int            `json:"count"` // with an answer
	PerSecond float64        `json:"perSecond"`
	Refused   map[string]int `json:"refused,omitempty"`
	Errors    map[string]int `json:"errors,omitempty"`
	Latency   Latency        `json:"latencyMillis"`
	Histogram []Bar          `json:"histogram,omitempty"`
}

// Latency has the latencies of calls in milliseconds.
type Latency struct {
	Min  float64 `json:"min"`
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
}

// Bar is the number of calls that took longer than the bar before, and up to UpTo milliseconds.
type Bar struct {
	UpTo  float64 `json:"upTo"`
	Count int     `json:"count"`
}

func newReport(cfg *Config, workers []*worker, took, processor time.Duration) Report {
	merged := make(map[Op]*tally)
	for _, w := range workers {
		for op, t := range w.tally {
			if merged[op] == nil {
				merged[op] = newTally()
			}
			merged[op].merge(t)
		}
	}
	report := Report{Mix: cfg.Mix.String(), Callers: cfg.Callers, Seconds: took.Seconds(), Calls: []Result{}}
	if cfg.Mix.needsNames() {
		report.Names = cfg.Names
	}
	done := 0
	for _, op := range slices.SortedFunc(maps.Keys(merged), func(a, b Op) int {
		return cmp.Compare(slices.Index(AllOps, a), slices.Index(AllOps, b))
	}) {
		report.Calls = append(report.Calls, merged[op].result(op, took))
		done += merged[op].done()
	}
	if done > 0 {
		report.ProcessorMicros = float64(processor.Microseconds()) / float64(done)
	}
	return report
}

func (t *tally) result(op Op, took time.Duration) Result {
	h := t.latencies
	at := func(p float64) float64 { return millis(h.ValueAtQuantile(p)) }
	return Result{
		Call: op, Count: t.done(), PerSecond: float64(t.done()) / took.Seconds(), Refused: t.refused, Errors: t.errors,
		Latency: Latency{
			Min: millis(h.Min()), Mean: h.Mean() / float64(time.Millisecond),
			P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: millis(h.Max()),
		},
		Histogram: bars(h),
	}
}

func millis(nanos int64) float64 { return float64(nanos) / float64(time.Millisecond) }

// bars returns the histogram in bars up to 1, 2, 5, 10, 20, 50 … µs, without the empty ones at
// both ends.
func bars(h *hdr.Histogram) (list []Bar) {
	bounds := []int64{shortest}
	for base := shortest; base <= longest; base *= 10 {
		bounds = append(bounds, 2*base, 5*base, 10*base)
	}
	counts := make([]int, len(bounds))
	first, last := len(bounds), 0
	for _, b := range h.Distribution() {
		if b.Count > 0 {
			i, _ := slices.BinarySearch(bounds, b.To)
			counts[i] += int(b.Count)
			first, last = min(first, i), max(last, i)
		}
	}
	for i := first; i <= last; i++ {
		list = append(list, Bar{UpTo: millis(bounds[i]), Count: counts[i]})
	}
	return list
}
