package pgstore

import (
	"errors"
	"sync"
)

// server notices that the database is served by another process than before: it was
// restarted, or another machine took over. That one may lack the last commits, if its
// standby was not synchronous, and give their revisions out once more. So whatever was
// decided on the old one's records is decided again.
type server struct {
	mu         sync.Mutex
	started    string // what it says of itself
	generation int
}

var errOtherServer = errors.New("the database is served by another process than when this was decided")

// changes takes in when the server was started, and reports whether it is another one.
func (s *server) changes(started string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.started != "" && s.started != started
	s.started = started
	if changed {
		s.generation++
	}
	return changed
}

func (s *server) now() (generation int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.generation
}
