package core

import "testing"

// The registry guesses while its guesses are right, and seldom while they are wrong.
func TestGuessRate(t *testing.T) {
	t.Parallel()
	var rate guessRate
	tries := func(batches int, right bool) (tried int) {
		for range batches {
			if rate.try() {
				tried++
				rate.note(right)
			}
		}
		return tried
	}
	if n := tries(100, true); n != 100 {
		t.Errorf("guessed %d of 100 times although all guesses were right", n)
	}
	if n := tries(1000, false); n < 20 || n > 60 {
		t.Errorf("guessed %d of 1000 times although all guesses were wrong", n)
	}
	tries(1000, true)
	if n := tries(100, true); n != 100 {
		t.Errorf("guessed %d of 100 times although all recent guesses were right", n)
	}
}
