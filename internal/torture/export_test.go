package torture

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/harness"
)

// Between puts something between the link to each server and the server.
func (c *Config) Between(between func(server int, address string) string) { c.between = between }

// Witnesses are those of a run with one server, which waits for an answer only for a moment.
type Witnesses struct {
	t *run
	w witnesses
}

// NewWitnesses makes witnesses in a registry.
func NewWitnesses(r *dibs.Registry) Witnesses {
	t := &run{harness: harness.New(context.Background()), scope: "s", servers: []*server{{registry: r}}}
	w := t.witness(rand.New(rand.NewPCG(1, 1)))
	w.most = 100 * time.Millisecond
	return Witnesses{t, w}
}

// CheckIn asks a registry for them, and returns what is wrong.
func (w Witnesses) CheckIn(r *dibs.Registry) []Violation {
	w.t.servers[0].registry = r
	w.w.check(0, "then")
	return w.t.wrong
}

// CheckShortHold returns what is wrong with a hold that ends while clocks are said to be so much ahead.
func (w Witnesses) CheckShortHold(ttl time.Duration, jump func(), ahead time.Duration) []Violation {
	h := w.w.holdShortly(ttl)
	jump()
	h.check(ahead, "then")
	return w.t.wrong
}
