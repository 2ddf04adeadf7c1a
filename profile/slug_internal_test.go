package profile

import (
	"testing"

	"pgregory.net/rapid"
)

// The short way for ASCII must lead where the long way leads.
func TestPlainSlugsAreBuiltAlike(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[ -~]{0,40}`).Draw(t, "value")
		plain := slugBuilder{limit: rapid.IntRange(1, 60).Draw(t, "limit")}
		long := plain
		if !plain.addPlain(value) {
			t.Fatal("ASCII is refused")
		}
		long.addAny(value)
		if plain.String() != long.String() {
			t.Errorf("%q becomes %q and %q", value, plain.String(), long.String())
		}
	})
}
