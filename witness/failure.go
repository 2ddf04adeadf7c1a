package witness

import "fmt"

// failure is an error with two texts: the whole one for the log, and a short one that the
// registry shows with the name, without hosts, users and tables.
type failure struct {
	doubt string // the short text
	err   error
}

func fail(doubt string, err error) error { return &failure{doubt, err} }

// Error returns the whole text.
func (f *failure) Error() string { return fmt.Sprintf("%s: %v", f.doubt, f.err) }

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.err }

// Doubt returns the short text.
func (f *failure) Doubt() string { return f.doubt + "; the log says why" }
