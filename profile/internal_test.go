package profile

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/text/secure/bidirule"
	"golang.org/x/text/secure/precis"
	"pgregory.net/rapid"
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

// The fast path for ASCII has the results of IDNA.
func TestASCIILabelsAreEncodedAlike(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[a-zA-Z0-9-]{1,66}|[ -~]{1,8}|[a-c-]{1,6}`).Draw(t, "value")
		if isEncoded(value) || strings.Contains(value, ".") {
			t.Skip("not for the short way")
		}
		label, _, ok := encodeLabel(value)
		want, err := strictLabels.ToASCII(value)
		hyphens := strings.HasPrefix(value, "-") || strings.HasSuffix(value, "-") || strings.HasPrefix(value[min(2, len(value)):], "--")
		if wantOK := err == nil && !hyphens && len(want) <= maxLabel; ok != wantOK || (ok && label != want) {
			t.Errorf("%q becomes %q, %v; IDNA has %q, %v", value, label, ok, want, err)
		}
	})
}

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
