package profile_test

import (
	"strings"
	"testing"

	"github.com/calldibs/dibs/profile"
)

func TestHostnameAccepts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ value, want string }{
		{"acme", "acme"},
		{"Acme-Inc", "acme-inc"},
		{"a", "a"},
		{"7", "7"},
		{"1984", "1984"},
		{"abc--def", "abc--def"},
		{"a-b-c", "a-b-c"},
		{strings.Repeat("X", 63), strings.Repeat("x", 63)},
		{"ａｃｍｅ", "acme"},
		{"ac\u00adme", "acme"},
		{"Bücher", "xn--bcher-kva"},
		{"xn--bcher-kva", "xn--bcher-kva"},
		{"XN--Bcher-KVA", "xn--bcher-kva"},
		{"ü--x", "xn----x-goa"}, // hyphens in the second and third place
	} {
		if got, err := (profile.Hostname{}).Canonical(test.value); err != nil || got != test.want {
			t.Errorf("%q becomes %q (%v), want %q", test.value, got, err, test.want)
		}
	}
}

func TestHostnameRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		value string
		rule  string
		at    int
		try   string
	}{
		{"", "empty", -1, ""},
		{"\u00ad", "empty", -1, ""},
		{"acme.inc", "more_than_one_label", 4, "acme-inc"},
		{"acme.", "more_than_one_label", 4, "acme"},
		{".", "more_than_one_label", 0, ""},
		{"例。え", "more_than_one_label", 3, "例-え"},
		{"acme_inc", "character_not_allowed", 4, "acme-inc"},
		{"Acme Inc", "character_not_allowed", 4, "acme-inc"},
		{"Jürgen Müller", "character_not_allowed", 7, "jürgen-müller"},
		{"O'Brien & Söhne", "character_not_allowed", 1, "obrien-söhne"},
		{"!!!", "character_not_allowed", 0, ""},
		{"i♥ny", "character_not_allowed", 1, "i-ny"},
		{"كـتاب", "character_not_allowed", 2, "ك-تاب"},
		{"a\xffb", "character_not_allowed", 1, "a-b"},
		{"-acme", "hyphen_at_start", 0, "acme"},
		{"acme-", "hyphen_at_end", 4, "acme"},
		{"Bücher-", "hyphen_at_end", 7, "bücher"},
		{"-", "hyphen_at_start", 0, ""},
		{"ab--cd", "hyphens_in_third_and_fourth_place", 2, "ab-cd"},
		{"üb--cd", "hyphens_in_third_and_fourth_place", 3, "üb-cd"},
		{"xn--", "bad_encoding", 0, ""},
		{"xn--acme-", "bad_encoding", 0, "xn-acme"},
		{"xn--99999999", "bad_encoding", 0, "xn-99999999"},
		{"xn--bcher-2pa", "bad_encoding", 0, "bücher"}, // of "bÜcher"
		{"xn--n3h", "bad_encoding", 0, ""},             // of a snowman
		{"\u0301a", "mark_at_start", 0, "a"},
		{"a·b", "character_out_of_place", 1, ""},
		{"אבc", "mixed_direction", -1, ""},
		{"2אב", "mixed_direction", -1, ""},
		{strings.Repeat("x", 64), "too_long", -1, strings.Repeat("x", 63)},
		{strings.Repeat("x", 62) + "-y", "too_long", -1, strings.Repeat("x", 62)},
		{strings.Repeat("ü", 70), "too_long", -1, strings.Repeat("ü", 57)},
	} {
		wantRefusal(t, profile.Hostname{}, test.value, test.rule, test.at, test.try)
		checkAddressContract(t, profile.Hostname{}, test.value, "2", 63)
	}
}

func TestHostnameJoin(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 63)
	for _, test := range []struct{ canonical, word, want string }{
		{"acme", "2", "acme-2"},
		{"acme", "Berlin", "acme-berlin"},
		{"abc--def", "2", "abc--def-2"},
		{"acme", "!", ""},
		{"", "2", ""},
		{"acme", long, ""},
		{long, "2", long[:61] + "-2"},
		{long[:61] + "-2", "2", ""},
		{strings.Repeat("x", 60) + "-yz", "2", strings.Repeat("x", 60) + "-2"},
		{"xn--bcher-kva", "2", "xn--bcher-2-n2a"},
		{"acme", "münchen", "xn--acme-mnchen-yhb"},
	} {
		if got := (profile.Hostname{}).Join(test.canonical, test.word); got != test.want {
			t.Errorf("%q and %q become %q, want %q", test.canonical, test.word, got, test.want)
		}
	}
}

func TestHostnameAllocations(t *testing.T) {
	// not parallel: AllocsPerRun
	for value, most := range map[string]float64{"acme-inc": 0, "Acme-Inc": 1} {
		if got := testing.AllocsPerRun(100, func() { _, _ = profile.Hostname{}.Canonical(value) }); got > most {
			t.Errorf("%q takes %v allocations, more than %v", value, got, most)
		}
	}
}

func BenchmarkCanonicalHostname(b *testing.B) {
	for name, value := range map[string]string{
		"canonical": "acme-inc",
		"ascii":     "Acme-Inc",
		"latin":     "Bücher",
		"encoded":   "xn--bcher-kva",
		"refused":   "Jürgen Müller",
		"worst":     strings.Repeat("ü", 512),
		"worstwide": "_" + strings.Repeat("語", 300),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = profile.Hostname{}.Canonical(value)
			}
		})
	}
}
