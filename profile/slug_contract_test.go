package profile_test

import (
	"errors"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/calldibs/dibs"
)

type joiningProfile interface {
	dibs.Profile
	dibs.Joiner
}

// checkAddressContract checks the contract of slugs and host names for any value. It returns
// the canonical form, empty for a refusal.
func checkAddressContract(t *testing.T, p joiningProfile, value, word string, limit int) string {
	t.Helper()
	canonical, err := p.Canonical(value)
	if err != nil {
		checkRefusal(t, p, value, err, limit)
		return ""
	}
	checkAddress(t, p, canonical, limit)
	if joined := p.Join(canonical, word); joined != "" {
		checkAddress(t, p, joined, limit)
		if joined == canonical {
			t.Errorf("%s: Join(%q, %q) changes nothing", p.Name(), canonical, word)
		}
	}
	return canonical
}

// checkAddress checks a canonical form.
func checkAddress(t *testing.T, p dibs.Profile, canonical string, limit int) {
	t.Helper()
	if canonical == "" || len(canonical) > limit {
		t.Errorf("%s: %q has %d bytes", p.Name(), canonical, len(canonical))
	}
	for i, c := range []byte(canonical) {
		letter := 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
		if !letter && (c != '-' || i == 0 || i == len(canonical)-1) {
			t.Errorf("%s: %q has %q at byte %d", p.Name(), canonical, c, i)
		}
	}
	if again, err := p.Canonical(canonical); err != nil || again != canonical {
		t.Errorf("%s: %q becomes %q (%v)", p.Name(), canonical, again, err)
	}
}

func checkRefusal(t *testing.T, p dibs.Profile, value string, err error, limit int) {
	t.Helper()
	var refusal *dibs.Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("%s: %q is refused with %v", p.Name(), value, err)
	}
	if refusal.Rule == "" || refusal.Problem == "" || refusal.At < -1 || refusal.At >= max(len(value), 1) {
		t.Errorf("%s: %q is refused with %+v", p.Name(), value, refusal)
	}
	if refusal.At > 0 && utf8.ValidString(value) && !utf8.RuneStart(value[refusal.At]) {
		t.Errorf("%s: %q: the position is inside a character: %+v", p.Name(), value, refusal)
	}
	for _, r := range refusal.Rule {
		if r != '_' && !unicode.IsLower(r) {
			t.Errorf("%s: the rule %q contains %q", p.Name(), refusal.Rule, r)
		}
	}
	if refusal.Try == "" {
		return
	}
	canonical, err := p.Canonical(refusal.Try)
	if err != nil {
		t.Fatalf("%s: %q: Try is %q, which it refuses: %v", p.Name(), value, refusal.Try, err)
	}
	checkAddress(t, p, canonical, limit)
}
