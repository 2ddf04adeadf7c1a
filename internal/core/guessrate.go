package core

const (
	guessSpan = 16 // about how many of the last guesses count
	guessPass = 32 // batches that are loaded for each one that is guessed, where guesses are mostly wrong
)

// guessRate tells whether guessing pays: where names are mostly taken, each guess costs a
// commit that fails.
type guessRate struct {
	wrong  float64 // the moving share of wrong guesses
	passed int     // batches since the last guess
}

// try reports whether to guess this time.
func (g *guessRate) try() bool {
	if g.passed++; g.wrong > 0.5 && g.passed <= guessPass {
		return false
	}
	g.passed = 0
	return true
}

// note counts a guess.
func (g *guessRate) note(right bool) {
	g.wrong -= g.wrong / guessSpan
	if !right {
		g.wrong += 1.0 / guessSpan
	}
}
