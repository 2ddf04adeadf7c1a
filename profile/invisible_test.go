package profile_test

import (
	"testing"

	"github.com/calldibs/dibs/profile"
)

// A second dot above a letter and the form of a final sigma do not count.
func TestConfusablesBeyondTheTable(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{"admi\u0307n", "admin"}, {"ADM\u0130N", "ADMIN"}, {"j\u0307", "j"}, {"οδος", "οδοσ"}, {"οδος", "ΟΔΟΣ"},
	} {
		a, err := profile.Username{}.Canonical(pair[0])
		if err != nil {
			t.Fatal(err)
		}
		b, err := profile.Username{}.Canonical(pair[1])
		if err != nil {
			t.Fatal(err)
		}
		if profile.Confusables.Skeleton(a) != profile.Confusables.Skeleton(b) {
			t.Errorf("%q and %q have different keys", a, b)
		}
	}
	for _, pair := range [][2]string{{"e\u0307", "e"}, {"ż", "z"}} {
		if profile.Confusables.Skeleton(pair[0]) == profile.Confusables.Skeleton(pair[1]) {
			t.Errorf("%q and %q have one key", pair[0], pair[1])
		}
	}
}

// A username may begin with an at sign without being an email.
func TestReservedAfterAtSign(t *testing.T) {
	t.Parallel()
	words, err := profile.ReservedWords(profile.Words{Own: []string{"admin"}, LookAlikes: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"@admin": true, "admin@example.com": true, "admi\u0307n": true, "alice@admin": false, "@alice": false, "@": false,
	} {
		if got := words.Reserved(name); got != want {
			t.Errorf("%q is reserved: %v", name, got)
		}
	}
}

// An address cannot contain invisible characters.
func TestEmailOfInvisibleCharacters(t *testing.T) {
	t.Parallel()
	if canonical, err := (profile.Email{}).Canonical("\u2800@example.com"); err == nil {
		t.Errorf("%q was accepted", canonical)
	}
}
