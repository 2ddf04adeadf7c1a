package etcdstore

import (
	"time"

	"google.golang.org/grpc"
)

// Intercept puts a function between a store and its cluster.
func Intercept(cfg Config, fn grpc.UnaryClientInterceptor) Config {
	cfg.intercept = fn
	return cfg
}

// ServersKnown returns how many other servers have published their time.
func (s *Store) ServersKnown() int {
	s.skew.mu.Lock()
	defer s.skew.mu.Unlock()
	return len(s.skew.others)
}

// PublishTimeOften makes a server publish its time far more often than usual.
func PublishTimeOften(cfg Config) Config {
	cfg.publishEvery = 100 * time.Millisecond
	return cfg
}

// JoinPatiently makes a new server wait for the times of the others even if they take long to publish them.
func JoinPatiently(cfg Config) Config {
	cfg.joinWait = time.Minute
	return cfg
}
