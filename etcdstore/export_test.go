package etcdstore

import (
	"time"

	"google.golang.org/grpc"
)

// Intercept makes a function stand between a store and its cluster.
func Intercept(cfg Config, fn grpc.UnaryClientInterceptor) Config {
	cfg.intercept = fn
	return cfg
}

// ServersKnown returns how many other servers have told their time.
func (s *Store) ServersKnown() int {
	s.skew.mu.Lock()
	defer s.skew.mu.Unlock()
	return len(s.skew.others)
}

// TellTimeOften makes a server tell its time far more often than servers do.
func TellTimeOften(cfg Config) Config {
	cfg.tellTimeEvery = 100 * time.Millisecond
	return cfg
}
