package limit

import (
	"context"
	"sync"
	"time"
)

// Shares gives each caller a gate of its own, so that one caller cannot take every place
// that all of them have in common. It is safe for concurrent use. Nil Shares let every
// caller in.
type Shares struct {
	most, room int
	patience   time.Duration

	mu    sync.Mutex
	gates map[string]*share // of the callers that are inside or wait
}

// share is the gate of one caller, and how many are inside it or wait.
type share struct {
	*Gate
	users int
}

// NewShares returns the shares of callers of which each lets most in, and room wait for as
// long as patience says, as [NewGate] does. It is nil where a caller may have any number.
func NewShares(most, room int, patience time.Duration) *Shares {
	if most == 0 {
		return nil
	}
	return &Shares{most: most, room: room, patience: patience, gates: make(map[string]*share)}
}

// Enter lets a caller in, at once or after some waiting, or turns it away. Whoever has
// entered has to call leave.
func (s *Shares) Enter(ctx context.Context, caller string) (leave func(), entry Entry) {
	if s == nil {
		return func() {}, Entered
	}
	s.mu.Lock()
	own := s.gates[caller]
	if own == nil {
		own = &share{Gate: NewGate(s.most, s.room, s.patience)}
		s.gates[caller] = own
	}
	own.users++
	s.mu.Unlock()
	if entry = own.Enter(ctx); entry != Entered {
		s.forget(caller, own)
		return nil, entry
	}
	return func() {
		own.Leave()
		s.forget(caller, own)
	}, Entered
}

// forget drops a gate that is not used any more: memory is bounded by what is under way.
func (s *Shares) forget(caller string, own *share) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(s.gates, caller)
	}
}
