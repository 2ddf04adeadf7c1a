package dibs

const (
	oddsSpan = 16 // about how many of the last guesses count
	oddsPass = 32 // batches that are loaded, for each that is tried, where guesses are mostly wrong
)

// odds tells whether guessing pays: where names are mostly taken, each guess costs a
// commit in vain.
type odds struct {
	wrong  float64 // the moving share of guesses that were
	passed int     // batches since the last one that was tried
}

// try reports whether to guess this time.
func (o *odds) try() bool {
	if o.passed++; o.wrong > 0.5 && o.passed <= oddsPass {
		return false
	}
	o.passed = 0
	return true
}

// note counts a guess.
func (o *odds) note(right bool) {
	o.wrong -= o.wrong / oddsSpan
	if !right {
		o.wrong += 1.0 / oddsSpan
	}
}
