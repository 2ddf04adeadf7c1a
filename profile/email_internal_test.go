package profile

import (
	"math/rand/v2"
	"testing"
)

// The general path has the same result for every address that the fast path accepts.
func TestASCIIEmailIsAnyEmail(t *testing.T) {
	t.Parallel()
	pieces := []string{
		"a", "B", "z9", "-", ".", "..", "@", "+", "_", "xn--", "--", "com", "1", ",", " ", "\"", "gmail.com",
		"@example.com", "@x-y.org", "@EXAMPLE.net.", "0", "!", "\x7F", "é",
	}
	random := rand.New(rand.NewPCG(3, 4))
	fast := 0
	for range 100_000 {
		value := ""
		for range 1 + random.IntN(6) {
			value += pieces[random.IntN(len(pieces))]
		}
		for _, e := range []Email{{}, {CaseSensitive: true}} {
			got, ok := e.asciiEmail(value)
			if !ok {
				continue
			}
			fast++
			if want, refusal := e.anyEmail(value); refusal != nil || got != want {
				t.Fatalf("%q: %q on the fast path, %q, %v on the general one", value, got, want, refusal)
			}
		}
	}
	if fast < 1000 {
		t.Errorf("only %d values took the fast path", fast)
	}
}

// Each ASCII character in each position of an address.
func TestEveryASCIICharacterInAnEmail(t *testing.T) {
	t.Parallel()
	for c := range byte(0x80) {
		for _, value := range []string{
			string(c) + "@b.cd", "a" + string(c) + "@b.cd", "a" + string(c) + "z@b.cd",
			"a@" + string(c) + ".cd", "a@b" + string(c) + ".cd", "a@b" + string(c) + "z.cd", "a@b.c" + string(c),
		} {
			got, ok := Email{}.asciiEmail(value)
			want, refusal := Email{}.anyEmail(value)
			if ok != (refusal == nil) || got != want {
				t.Errorf("%q: %q, %t on the fast path, %q, %v on the general one", value, got, ok, want, refusal)
			}
		}
	}
}
