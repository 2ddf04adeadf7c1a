package linear

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/calldibs/dibs"
)

// history is the execution of a plan.
type history struct {
	plan
	site    *Site
	began   time.Time
	mu      sync.Mutex
	done    []porcupine.Operation
	holders [maxNames + 1]int // the token that held a name last, as far as callers know
	failed  error             // an error that no caller may get

	reading int64 // when the final reads began, in nanoseconds

	nothing int // commands that did not happen, and reads without an answer
	lost    int // commands with an unknown outcome
}

// run runs all clients, and then reads the final state.
func (h *history) run(ctx context.Context) {
	h.began = time.Now()
	var clients sync.WaitGroup
	for i := range h.clients {
		clients.Go(func() { h.act(ctx, i) })
	}
	clients.Wait()
	h.reading = time.Since(h.began).Nanoseconds()
	h.readBack(ctx)
}

func (h *history) client(i int) *client {
	regs := h.site.Registries
	return &client{reg: regs[(i+int(h.seed%uint64(len(regs))))%len(regs)], scope: h.scope(), namespace: h.namespace()}
}

// mostLost is how many commands with an unknown outcome end a history: each may have happened
// at any later moment, and so doubles the time that a check takes.
const mostLost = 4

func (h *history) lostMost() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lost >= mostLost
}

// act runs one client.
func (h *history) act(ctx context.Context, i int) {
	random := rand.New(rand.NewPCG(h.seed, uint64(i)+1))
	c := h.client(i)
	for range h.steps {
		o := h.next(random)
		h.mu.Lock()
		h.proof(&o, h.holders, random)
		h.mu.Unlock()
		for tries := 0; ; tries++ {
			if h.lostMost() {
				return
			}
			answered := h.ask(ctx, i, c, o)
			if answered || tries == 3 || random.IntN(3) == 0 {
				break
			}
			time.Sleep(time.Duration(random.IntN(15)) * time.Millisecond) // then retries, as a caller should
		}
		if h.lapses || random.IntN(4) == 0 {
			time.Sleep(time.Duration(random.IntN(15)) * time.Millisecond) // clients have different rhythms
		}
	}
}

// ask asks once, and records the answer. It reports whether the answer is clear.
func (h *history) ask(ctx context.Context, i int, c *client, o Op) bool {
	ctx, cancel := context.WithTimeout(ctx, h.site.Patience)
	defer cancel()
	o.Asked, o.Jumps = at(time.Now()), h.jumps
	call := time.Since(h.began)
	answer, happened, err := c.ask(ctx, o)
	back := time.Since(h.began)
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err != nil:
		h.failed = err
		return true
	case !happened, answer.Lost && o.Verb.reads(): // a read without an answer tells nothing
		h.nothing++
		return false
	case answer.Lost:
		h.lost++
	}
	h.done = append(h.done, porcupine.Operation{
		ClientId: i, Input: o, Output: answer, Call: call.Nanoseconds(), Return: back.Nanoseconds(),
	})
	for _, seen := range answer.Names {
		if seen.Name != foreign && seen.State == dibs.Held && o.Token != 0 && !o.Verb.reads() {
			h.holders[seen.Name] = o.Token
		}
	}
	return !answer.Lost
}

// readBack reads each name and entity until there is an answer: a lost acknowledged write
// shows here.
func (h *history) readBack(ctx context.Context) {
	for i := 1; i <= h.names; i++ {
		questions := []Op{{Verb: Get, Name: i}, {Verb: Resolve, Name: i}}
		if !h.apart {
			questions = append(questions, Op{Verb: Names, Entity: i})
		}
		for _, o := range questions {
			for turn := 0; !h.ask(ctx, h.clients, h.client(turn), o) && ctx.Err() == nil; turn++ {
				time.Sleep(10 * time.Millisecond) // the engine may be unreachable
			}
		}
	}
}

// operations returns the history in the form of porcupine: an operation without an answer
// may happen until the end.
func (h *history) operations() []porcupine.Operation {
	end := time.Since(h.began).Nanoseconds()
	operations := make([]porcupine.Operation, len(h.done))
	for i, operation := range h.done {
		if operation.Output.(Answer).Lost {
			operation.Return = end
		}
		operations[i] = operation
	}
	return operations
}

// check searches for an order in which all answers are right.
func (h *history) check() porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(model(h.apart, h.quarantine), h.operations(), mostChecking)
}
