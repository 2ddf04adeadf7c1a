package witness

import "fmt"

// failure is what went wrong, for the log, and as much of it as everybody may know who can
// see the name: not which hosts, users and tables there are.
type failure struct {
	doubt string
	err   error
}

// fail makes an error of which only the first words are shown with the name.
func fail(doubt string, err error) error { return &failure{doubt, err} }

// Error says everything.
func (f *failure) Error() string { return fmt.Sprintf("%s: %v", f.doubt, f.err) }

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.err }

// Doubt is what the registry shows with the name.
func (f *failure) Doubt() string { return f.doubt + "; the log says why" }
