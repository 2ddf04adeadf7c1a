package profile

import (
	"testing"

	"pgregory.net/rapid"
)

// The fast path for ASCII has the results of the general one.
func TestASCIISlugsAreBuiltAlike(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[ -~]{0,40}`).Draw(t, "value")
		plain := slugBuilder{limit: rapid.IntRange(1, 60).Draw(t, "limit")}
		long := plain
		if !plain.addASCII(value) {
			t.Fatal("addASCII refuses ASCII")
		}
		long.addAny(value)
		if plain.String() != long.String() {
			t.Errorf("%q becomes %q and %q", value, plain.String(), long.String())
		}
	})
}
