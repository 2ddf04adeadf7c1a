package profile_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/profile"
)

func TestOneScriptAccepts(t *testing.T) {
	t.Parallel()
	p := profile.OneScript(dibs.Exact)
	for _, name := range []string{
		"paypal", "раура", "zoë-2", "zoe\u0308", "анна_7", "γιώργος", "東京タワー", "ひらカナ漢字", "漢ㄅ", "한국漢字",
		"म१२", "٣٤", "party🎉", "12-34", "ღმერთი", "𝟙𝟚",
		"анна@example.com", "anna@пример.com", "анна@xn--e1afmkfd.com", "xn--e1afmkfd.com", "anna.xn--e1afmkfd",
		"xn--9999999999.com",
	} {
		canonical, err := p.Canonical(name)
		if err != nil || canonical != name {
			t.Errorf("Canonical(%q) = %q, %v", name, canonical, err)
		}
	}
}

func TestOneScriptRefuses(t *testing.T) {
	t.Parallel()
	p := profile.OneScript(dibs.Exact)
	for _, c := range []struct {
		value   string
		rule    string
		problem string
		at      int
		try     string
	}{
		{"pаypal", "mixed_scripts", `mixes Latin and Cyrillic ("а" at byte 1)`, 1, "paypal"},
		{"раypal", "mixed_scripts", `mixes Cyrillic and Latin ("y" at byte 4)`, 4, "paypal"},
		{"анna-2", "mixed_scripts", `mixes Cyrillic and Latin ("n" at byte 4)`, 4, ""},
		{"павeл", "mixed_scripts", `mixes Cyrillic and Latin ("e" at byte 6)`, 6, ""},
		{"sales東京", "mixed_scripts", `mixes Latin and Han ("東" at byte 5)`, 5, ""},
		{"漢ひ한", "mixed_scripts", `mixes Hiragana and Hangul ("한" at byte 6)`, 6, ""},
		{"漢ㄅカ", "mixed_scripts", `mixes Bopomofo and Katakana ("カ" at byte 6)`, 6, ""},
		{"user२", "mixed_scripts", `mixes Latin and Devanagari ("२" at byte 4)`, 4, "user2"},
		{"म1२", "mixed_digits", `mixes digits of two number systems ("२" at byte 4)`, 4, ""},
		{"user1𝟚", "mixed_digits", `mixes digits of two number systems ("𝟚" at byte 5)`, 5, "user12"},
		{"ab\U000e1000", "mixed_scripts", `mixes Latin and an unknown script ("\U000e1000" at byte 2)`, 2, ""},
		{"pаy@example.com", "mixed_scripts", `mixes Latin and Cyrillic ("а" at byte 1)`, 1, "pay@example.com"},
		{"ann@www.pаypal.com", "mixed_scripts", `mixes Latin and Cyrillic ("а" at byte 9)`, 9, "ann@www.paypal.com"},
		{"www.xn--pypal-4ve.com", "mixed_scripts", `mixes Latin and Cyrillic ("а" in the label at byte 4)`, 4, "www.paypal.com"},
		{"anna.анна", "mixed_scripts", `mixes Latin and Cyrillic ("а" at byte 5)`, 5, ""},
	} {
		_, err := p.Canonical(c.value)
		var r *dibs.Refusal
		if !errors.As(err, &r) {
			t.Errorf("%q: %v, want a refusal", c.value, err)
			continue
		}
		if want := (dibs.Refusal{Rule: c.rule, Problem: c.problem, At: c.at, Try: c.try}); *r != want {
			t.Errorf("%q:\n got %+v\nwant %+v", c.value, *r, want)
		}
	}
}

// lowered is a profile with a refusal and a Join, to be wrapped.
type lowered struct{ try string }

func (lowered) Name() string { return "lowered/1" }

func (p lowered) Canonical(value string) (string, error) {
	if strings.HasSuffix(value, "!") {
		return "", &dibs.Refusal{Rule: "loud", Problem: "is loud", At: 0, Try: p.try}
	}
	return strings.ToLower(strings.TrimSpace(value)), nil
}

func (lowered) Join(canonical, word string) string { return canonical + "." + word }

func TestOneScriptWraps(t *testing.T) {
	t.Parallel()
	p := profile.OneScript(lowered{try: "pаy"})
	if got := p.Name(); got != "lowered/1;onescript" {
		t.Errorf("Name() = %q", got)
	}
	if again := profile.OneScript(p); again != p {
		t.Errorf("wrapped twice the name is %q", again.Name())
	}
	if got := profile.OneScript(nil).Name(); got != "exact/1;onescript" {
		t.Errorf("OneScript(nil) is %q", got)
	}
	if got, err := p.Canonical(" ANNA "); got != "anna" || err != nil {
		t.Errorf("Canonical = %q, %v", got, err)
	}

	var r *dibs.Refusal
	if _, err := p.Canonical("hey!"); !errors.As(err, &r) || r.Rule != "loud" || r.Try != "" {
		t.Errorf("the inner profile's refusal became %+v: its Try mixes scripts", r)
	}
	if _, err := profile.OneScript(lowered{try: "hey"}).Canonical("hey!"); !errors.As(err, &r) || r.Try != "hey" {
		t.Errorf("the inner profile's refusal became %+v, without its Try", r)
	}
	// The position is that in the value, not in the canonical form.
	if _, err := p.Canonical("  PА"); !errors.As(err, &r) || r.At != 3 || r.Try != "" {
		t.Errorf("the refusal of a value with spaces is %+v", r)
	}
}

func TestOneScriptJoins(t *testing.T) {
	t.Parallel()
	joiner, ok := profile.OneScript(lowered{}).(dibs.Joiner)
	if !ok {
		t.Fatal("the wrapped profile is not a Joiner")
	}
	if got := joiner.Join("anna", "berlin"); got != "anna.berlin" {
		t.Errorf("Join = %q", got)
	}
	if got := joiner.Join("анна", "2"); got != "анна.2" {
		t.Errorf("Join = %q", got)
	}
	if got := joiner.Join("анна", "berlin"); got != "" {
		t.Errorf("Join = %q, which the profile refuses", got)
	}
	if _, ok := profile.OneScript(dibs.Exact).(dibs.Joiner); ok {
		t.Error("the wrapped Exact is a Joiner")
	}
}

func TestOneScriptAllocations(t *testing.T) { // not parallel: AllocsPerRun
	p := profile.OneScript(dibs.Exact)
	for _, name := range []string{"annaliseboyd", "anna@example.com", "with--hyphens"} {
		if got := testing.AllocsPerRun(100, func() { _, _ = p.Canonical(name) }); got > 0 {
			t.Errorf("Canonical(%q) allocates %v times", name, got)
		}
	}
}

func FuzzOneScript(f *testing.F) {
	for _, seed := range []string{"pаypal", "東京a", "1१", "a@b@xn--80ak6aa92e.ж", "xn--pypal-4ve.com", "\xff", "", "ﷺﷺaaaa", "xn--abc\u0301-4ve"} {
		f.Add(seed)
	}
	p := profile.OneScript(dibs.Exact)
	f.Fuzz(func(t *testing.T, value string) {
		_, err := p.Canonical(value)
		if err == nil {
			return
		}
		var r *dibs.Refusal
		if !errors.As(err, &r) || r.Rule == "" || r.At < -1 || r.At >= len(value) {
			t.Fatalf("Canonical(%+q): %+v", value, err)
		}
		if r.Try == "" {
			return
		}
		if _, err := p.Canonical(r.Try); err != nil || len(r.Try) > 1024 || !utf8.ValidString(r.Try) {
			t.Errorf("Canonical(%+q) offers %+q, which it refuses: %v", value, r.Try, err)
		}
	})
}

func BenchmarkOneScript(b *testing.B) {
	p := profile.OneScript(dibs.Exact)
	for name, value := range map[string]string{"ascii": "annaliseboyd", "cyrillic": "раурарауравел"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = p.Canonical(value)
			}
		})
	}
}
