package profile

import (
	"errors"
	"math/rand/v2"
	"testing"

	"golang.org/x/text/secure/bidirule"
	"golang.org/x/text/secure/precis"
)

// The fast path for ASCII has the results of RFC 8265: for all texts of one to three
// characters, and for some longer ones.
func TestASCIIUsernameIsPrecise(t *testing.T) {
	t.Parallel()
	var text []byte
	var all func(rest int)
	all = func(rest int) {
		if len(text) > 0 {
			sameAsPrecise(t, string(text))
		}
		if rest == 0 || t.Failed() {
			return
		}
		for c := range byte(0x80) {
			text = append(text, c)
			all(rest - 1)
			text = text[:len(text)-1]
		}
	}
	all(3)
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		long := make([]byte, 4+random.IntN(60))
		for i := range long {
			long[i] = byte('!' + random.IntN('~'-'!'+2))
		}
		sameAsPrecise(t, string(long))
	}
}

func sameAsPrecise(t *testing.T, text string) { // without t.Helper: there are two million calls
	want, err := precis.UsernameCaseMapped.String(text)
	got, ok := asciiUsername(text)
	if ok != (err == nil) || got != want {
		t.Errorf("%q: %q, %t on the fast path, %q, %v by RFC 8265", text, got, ok, want, err)
	}
}

// Every username that the library's UsernameCaseMapped accepts has the same result. Others are
// accepted only if the library refuses them by a Bidi Rule that does not apply.
func TestUsernameMatchesLibrary(t *testing.T) {
	t.Parallel()
	for r := rune(0x80); r < 0x20000; r++ {
		if 0x3400 <= r && r < 0xA000 || 0xAC00 <= r && r < 0xE000 {
			r += 0x40 // a sample of ideographs and syllables; surrogates are no characters
		}
		for _, text := range []string{string(r), "a" + string(r)} {
			want, err := precis.UsernameCaseMapped.String(text)
			got, refusal := preciseUsername(text)
			switch {
			case err == nil && got != want:
				t.Errorf("%q: %q, %v, want %q", text, got, refusal, want)
			case err != nil && refusal == nil && !errors.Is(err, bidirule.ErrInvalid):
				t.Errorf("%q is accepted, want %v", text, err)
			}
		}
	}
}
