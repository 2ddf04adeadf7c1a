// Package harness lets a program use the fixtures of tests, such as private database
// clusters. They take a [TB], which *testing.T is; a program has a [Run].
package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// TB is the part of testing.TB that fixtures use.
type TB interface {
	Helper()
	Log(args ...any)
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Cleanup(do func())
	Context() context.Context
}

// Run is the TB of a program. It is safe for concurrent use, except that Fatal and Fatalf are
// only for functions that [Run.Do] runs.
type Run struct {
	ctx context.Context // as in testing.TB

	mu       sync.Mutex
	errs     []error
	cleanups []func()
}

var _ TB = (*Run)(nil)

// New returns a Run whose fixtures may use ctx.
func New(ctx context.Context) *Run { return &Run{ctx: ctx} }

// fatal is what Fatal panics with.
type fatal struct{ err error }

// Do calls a function, and returns the error with which a fixture ended it.
func (r *Run) Do(do func()) (err error) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case fatal:
			err = cause.err
		default:
			panic(cause)
		}
	}()
	do()
	return nil
}

// Close undoes what the fixtures did, last first, and returns their errors.
func (r *Run) Close() error {
	r.mu.Lock()
	cleanups := r.cleanups
	r.cleanups = nil
	r.mu.Unlock()
	for _, cleanup := range slices.Backward(cleanups) {
		if err := r.Do(cleanup); err != nil {
			r.Error(err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.errs...)
}

// Helper does nothing.
func (r *Run) Helper() {}

// Log does nothing: a fixture logs what explains a failure of a test.
func (r *Run) Log(...any) {}

// Error keeps an error for Close.
func (r *Run) Error(args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, errors.New(fmt.Sprint(args...)))
}

// Errorf keeps an error for Close.
func (r *Run) Errorf(format string, args ...any) { r.Error(fmt.Sprintf(format, args...)) }

// Fatal ends the function that Do runs.
func (r *Run) Fatal(args ...any) { panic(fatal{errors.New(fmt.Sprint(args...))}) }

// Fatalf ends the function that Do runs.
func (r *Run) Fatalf(format string, args ...any) { panic(fatal{fmt.Errorf(format, args...)}) }

// Cleanup makes Close call a function.
func (r *Run) Cleanup(do func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, do)
}

// Context returns the context of New.
func (r *Run) Context() context.Context { return r.ctx }
