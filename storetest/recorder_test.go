package storetest

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
)

// recorder is a testing.TB that records failures, so that a case can fail without
// failing the test that expects it to.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	failures []string
}

func (r *recorder) note(message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, message)
}

func (r *recorder) Fail()                             { r.note("failed") }
func (r *recorder) Error(args ...any)                 { r.note(fmt.Sprint(args...)) }
func (r *recorder) Errorf(format string, args ...any) { r.note(fmt.Sprintf(format, args...)) }

func (r *recorder) FailNow() {
	r.Fail()
	runtime.Goexit()
}

func (r *recorder) Fatal(args ...any) {
	r.Error(args...)
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.failures) > 0
}

func (r *recorder) Log(...any)          {}
func (r *recorder) Logf(string, ...any) {}

// try runs a case and returns its failure messages.
func try(t *testing.T, c testCase, harness Harness) []string {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() { // a failing case ends its goroutine
		defer close(done)
		c.prove(r, harness)
	}()
	<-done
	return r.failures
}
