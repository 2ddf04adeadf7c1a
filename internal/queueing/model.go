// Package queueing predicts how many reservations a second a registry commits: a simulation of
// callers that wait for their answers, writers that commit all waiting calls as one batch,
// processors that do the work, and commits that take their time.
//
// The model knows no rule about names and nothing about engines but the times below. A test
// compares it with what make bench measured.
package queueing

import (
	"container/heap"
	"time"
)

// Model is a registry with one engine.
type Model struct {
	Callers  int // each waits for its answer, and then calls again
	Writers  int // batches in progress at once; see dibs.Config
	MaxBatch int // calls in a batch; see dibs.Config
	Cores    int // that program and engine share

	Row    time.Duration // of processor for each call, in program and engine together
	Batch  time.Duration // of processor for each batch, whatever its size
	Commit time.Duration // until a commit is durable, without a processor: sync, network, standby
}

// Result is what a simulation found.
type Result struct {
	PerSecond float64       // calls
	Batch     float64       // mean number of calls in a batch
	Latency   time.Duration // mean of a call
	Busy      float64       // share of the processors' time
}

// Simulate lets the callers work for so much simulated time, after a tenth of it to warm up.
func (m Model) Simulate(length time.Duration) Result {
	s := &simulation{Model: m, idleCores: m.Cores, idleWriters: m.Writers, warm: length / 10, end: length + length/10}
	for range m.Callers {
		s.waiting = append(s.waiting, 0)
	}
	s.dispatch()
	for len(s.events) > 0 && s.now < s.end {
		e := heap.Pop(&s.events).(event)
		s.now = e.at
		e.do()
		s.dispatch()
	}
	return s.result(length)
}

// simulation is a Model at work. Its events happen in the order of their times.
type simulation struct {
	Model
	now, warm, end time.Duration
	events         events

	waiting     []time.Duration // since when each waiting call waits
	work        []job           // that waits for a processor
	idleCores   int
	idleWriters int

	calls, batches int
	waited, busy   time.Duration
}

// job is work for one processor, and what follows it.
type job struct {
	takes time.Duration
	then  func()
}

// dispatch gives batches to idle writers, and jobs to idle processors.
func (s *simulation) dispatch() {
	for s.idleWriters > 0 && len(s.waiting) > 0 {
		s.idleWriters--
		n := min(len(s.waiting), s.MaxBatch)
		batch := append([]time.Duration(nil), s.waiting[:n]...)
		s.waiting = s.waiting[n:]
		s.work = append(s.work, job{s.Batch + time.Duration(n)*s.Row, func() {
			s.after(s.Commit, func() { s.answer(batch) })
		}})
	}
	for s.idleCores > 0 && len(s.work) > 0 {
		s.idleCores--
		next := s.work[0]
		s.work = s.work[1:]
		if s.now >= s.warm {
			s.busy += next.takes
		}
		s.after(next.takes, func() {
			s.idleCores++
			next.then()
		})
	}
}

// answer ends a batch; its callers call again at once.
func (s *simulation) answer(batch []time.Duration) {
	s.idleWriters++
	for _, since := range batch {
		if s.now >= s.warm {
			s.calls++
			s.waited += s.now - since
		}
		s.waiting = append(s.waiting, s.now)
	}
	if s.now >= s.warm {
		s.batches++
	}
}

func (s *simulation) after(d time.Duration, do func()) {
	heap.Push(&s.events, event{s.now + d, do})
}

func (s *simulation) result(length time.Duration) Result {
	calls, batches := max(s.calls, 1), max(s.batches, 1)
	return Result{
		PerSecond: float64(s.calls) / length.Seconds(), Batch: float64(s.calls) / float64(batches),
		Latency: s.waited / time.Duration(calls), Busy: s.busy.Seconds() / length.Seconds() / float64(s.Cores),
	}
}

// event happens at a time.
type event struct {
	at time.Duration
	do func()
}

// events is a heap, the earliest first.
type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, k int) bool { return e[i].at < e[k].at }
func (e events) Swap(i, k int)      { e[i], e[k] = e[k], e[i] }

// Push adds an event, for package heap.
func (e *events) Push(x any) { *e = append(*e, x.(event)) }

// Pop removes the last event, for package heap.
func (e *events) Pop() any {
	old := *e
	last := old[len(old)-1]
	*e = old[:len(old)-1]
	return last
}
